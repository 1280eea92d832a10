// Which vectors of a thread loop are inside of the arrays that its branches ask about, as the loads and stores of tiles
// ask for each element (passes/lower_tiles.h):
//
//   for.thread %k in 0 .. 1024 step 1 {
//     %5: bool = ge %k, 0
//     %6: bool = lt %k, %extent
//     %7: bool = and %5, %6
//     %8: bool = and %row_is_inside, %7
//     if %8 -> (%10: f32 = %9 | 0.0) { %9: f32 = load @x[%row, %k] }
//     ...
//
// The first of them are, all but one or a part of one. A vector that is needs no mask. That matters beyond the
// instructions: processors do not read ahead in memory for what is loaded under a mask.
#pragma once

#include "samite/ir/kernel.h"

#include <functional>
#include <string>
#include <vector>

namespace samite::codegen {

struct Inside {
  std::vector<const ir::If *> branches;  // which all lanes take, where a vector is inside

  // `first` + the loop's index is at least, or less than, `bound`, where `first` may be nothing. All are values from
  // before the loop.
  struct Limit {
    ir::Value first, bound;
  };
  std::vector<Limit> least, below;
  std::vector<ir::Value> conditions;  // from before the loop

  bool of(const ir::If &branch) const;
  // How many instances from 0 on are inside, of `count`: an expression of 64 bits. `scalar` writes a value.
  std::string count(std::int64_t count, const std::function<std::string(const ir::Value &)> &scalar) const;
};

// No branches where there are none of that kind, or the loop does not begin with 0.
Inside inside_of(const ir::For &loop);

}  // namespace samite::codegen
