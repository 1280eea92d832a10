// Sums that the text keeps in locals while a loop runs, and adds to their elements when it is over.
//
// A loss, or the gradient of a scalar, is accumulated by every instance into one element. An atomic step for each
// would serialise all threads of the machine on it. In lanes, a loop keeps a vector of partial sums: a thread loop, or
// a serial loop around thread loops (`codegen/lane_sums.h`). Where a thread runs each instance, a thread keeps what all
// instances of the launch add to, and a block adds the sums of its threads (`codegen/launch_sums.h`). Only of arrays
// with which the kernel does nothing else, whose order could be told.
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

// Those that are open where the emitter stands.
class OpenSums {
 public:
  // The sum of an addition, where one is open; else null.
  const Sum *of(const ir::Accumulate &accumulate) const;
  std::size_t count() const { return sums_.size(); }

  void open(Sum sum);
  // All but the first `outer`, which are open no longer.
  std::vector<Sum> close(std::size_t outer);

 private:
  std::vector<Sum> sums_;
  std::map<std::vector<std::uint64_t>, std::size_t> number_of_;  // the place in sums_
};

}  // namespace samite::codegen
