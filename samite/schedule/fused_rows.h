// Loops over what two loops were fused to, of the CPU, where how many iterations the inner one has is known at launch
// only. The index of each would be a quotient and a remainder in every iteration. Instead the loop goes row by row:
//
//   for t in 0 .. count:               for y in first / n .. (first + count - 1) / n + 1:
//     y = (first + t) / n        →       for x in max(first - y n, 0) .. min(first + count - y n, n):
//     x = (first + t) % n                  …
//     …
//
// The iterations and their order stay as they are.
#pragma once

#include "samite/schedule/sites.h"

namespace samite::schedules {

// Of a loop whose index is part of a fused one, all else of which is known.
struct FusedRows {
  passes::Affine fused;         // the index of the fused loop
  passes::Affine first, count;  // where it begins, and how many iterations there are
  passes::Affine outer, inner;  // how many iterations the two loops have
  bool all = false;             // it is all of the fused loop
  bool with_next = false;       // the loop inside of this one goes through pieces of it, and is part of this one
};

// Of loop number i, and the one inside of it where nothing else is between them.
std::optional<FusedRows> fused_rows(const Lowering &lowering, const Site &site, std::size_t i);

// The loops, of which the inner one, of that kind, has what `inside` writes. `symbol` counts the iterations. The local
// of the inner loop's index is returned.
ir::LocalId loop_in_rows(Lowering &lowering, const FusedRows &rows, const passes::Symbol &symbol, ir::LoopKind kind,
                         const std::function<void()> &inside);

}  // namespace samite::schedules
