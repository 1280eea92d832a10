#include "samite/codegen/sums.h"

#include <utility>

namespace samite::codegen {

using namespace ir;

std::vector<std::uint64_t> element_of(const Accumulate &accumulate) {
  std::vector<std::uint64_t> element{accumulate.array};
  for (const Value &index : accumulate.indices) {
    element.push_back(static_cast<std::uint64_t>(index.kind()));
    element.push_back(static_cast<std::uint64_t>(index.type().element()));
    element.push_back(index.bits());
  }
  return element;
}

const Sum *OpenSums::of(const Accumulate &accumulate) const {
  if (sums_.empty()) return nullptr;
  auto found = number_of_.find(element_of(accumulate));
  return found == number_of_.end() ? nullptr : &sums_[found->second];
}

void OpenSums::open(Sum sum) {
  number_of_[element_of(*sum.first)] = sums_.size();
  sums_.push_back(std::move(sum));
}

std::vector<Sum> OpenSums::close(std::size_t outer) {
  std::vector<Sum> closed(sums_.begin() + static_cast<std::ptrdiff_t>(outer), sums_.end());
  sums_.resize(outer);
  for (const Sum &sum : closed) number_of_.erase(element_of(*sum.first));
  return closed;
}

}  // namespace samite::codegen
