// Sums of lanes: a loop over instances, or a serial one around such loops, keeps a vector of its iterations' additions
// to one element, and adds that up at its end (`codegen/sums.h`).
#pragma once

#include "samite/codegen/lane_access.h"
#include "samite/codegen/sums.h"

namespace samite::codegen {

class LaneSums {
 public:
  LaneSums(Emission &emission, const LaneValues &values, LaneAccess &access, const Failures &failures)
      : emission_(emission), values_(values), access_(access), failures_(failures) {}

  const Sum *of(const ir::Accumulate &accumulate) const { return open_.of(accumulate); }

  // Before the loop. Returns the number of open sums, the argument of `close` after the loop.
  std::size_t open(const ir::For &loop);
  void close(std::size_t outer);

 private:
  Emission &emission_;
  const LaneValues &values_;
  LaneAccess &access_;
  const Failures &failures_;
  OpenSums open_;
};

}  // namespace samite::codegen
