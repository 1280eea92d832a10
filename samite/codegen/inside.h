// The vectors of a thread loop that are inside the arrays of its branches' bounds checks. Loads and stores of tiles
// have such a check for each element (passes/tiles/lower_tiles.h):
//
//   for.thread %k in 0 .. 1024 step 1 {
//     %5: bool = ge %k, 0
//     %6: bool = lt %k, %extent
//     %7: bool = and %5, %6
//     %8: bool = and %row_is_inside, %7
//     if %8 -> (%10: f32 = %9 | 0.0) { %9: f32 = load @x[%row, %k] }
//     ...
//
// All vectors but the last, or a part of one, usually pass. A vector inside needs no mask. That matters beyond the
// instructions: processors do not prefetch for masked loads.
#pragma once

#include "samite/ir/kernel.h"

#include <functional>
#include <string>
#include <vector>

namespace samite::codegen {

struct Inside {
  std::vector<const ir::If *> branches;  // taken by all lanes of a vector inside

  // `first` + the loop's index is at least, or less than, `bound`; `first` may be empty. All are values from before the
  // loop.
  struct Limit {
    ir::Value first, bound;
  };
  std::vector<Limit> least, below;
  std::vector<ir::Value> conditions;  // from before the loop

  bool of(const ir::If &branch) const;
  // The number of leading instances, of `count`, that are inside: a 64-bit expression. `scalar` writes a value.
  std::string count(std::int64_t count, const std::function<std::string(const ir::Value &)> &scalar) const;
};

// Has no branches if there are no such checks, or if the loop does not begin at 0.
Inside inside_of(const ir::For &loop);

}  // namespace samite::codegen
