#include "samite/codegen/sums.h"

#include "samite/passes/threads/sum_over_lanes.h"

#include <utility>

namespace samite::codegen {

using namespace ir;

const Sum *OpenSums::of(const Accumulate &accumulate) const {
  if (sums_.empty()) return nullptr;
  auto found = number_of_.find(passes::element_of(accumulate));
  return found == number_of_.end() ? nullptr : &sums_[found->second];
}

void OpenSums::open(Sum sum) {
  number_of_[passes::element_of(*sum.first)] = sums_.size();
  sums_.push_back(std::move(sum));
}

std::vector<Sum> OpenSums::close(std::size_t outer) {
  std::vector<Sum> closed(sums_.begin() + static_cast<std::ptrdiff_t>(outer), sums_.end());
  sums_.resize(outer);
  for (const Sum &sum : closed) number_of_.erase(passes::element_of(*sum.first));
  return closed;
}

}  // namespace samite::codegen
