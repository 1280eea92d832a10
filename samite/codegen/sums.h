// Sums that the text keeps in locals during a loop, and adds to their elements after it.
//
// In a loss, or the gradient of a scalar, every instance adds to one element. Atomic steps would serialise all threads
// of the machine there. In lanes, a loop keeps a vector of partial sums: a thread loop, or a serial loop around thread
// loops (`codegen/lane_sums.h`). If a thread runs each instance, the thread keeps the sum, and a block adds the sums of
// its threads (`codegen/launch_sums.h`). This applies only to arrays that the kernel does not access otherwise, so that
// the order is unobservable.
#pragma once

#include "samite/codegen/emission.h"

#include <cstdint>
#include <map>
#include <vector>

namespace samite::codegen {

struct Sum {
  const ir::Accumulate *first;
  SourceLocation where;
  std::string name;
};

// The currently open sums.
class OpenSums {
 public:
  // The open sum of an addition, or null.
  const Sum *of(const ir::Accumulate &accumulate) const;
  std::size_t count() const { return sums_.size(); }

  void open(Sum sum);
  // Closes and returns all but the first `outer`.
  std::vector<Sum> close(std::size_t outer);

 private:
  std::vector<Sum> sums_;
  std::map<std::vector<std::uint64_t>, std::size_t> number_of_;  // the index in sums_
};

}  // namespace samite::codegen
