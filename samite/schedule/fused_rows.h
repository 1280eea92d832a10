// Fused loops of the CPU, and of a thread on a GPU, whose inner iteration count is known only at launch. Their two
// indices would need a quotient and a remainder in every iteration. Instead the fused loop runs row by row:
//
//   for t in 0 .. count:               for y in first / n .. (first + count - 1) / n + 1:
//     y = (first + t) / n        →       for x in max(first - y n, 0) .. min(first + count - y n, n):
//     x = (first + t) % n                  …
//     …
//
// The iterations and their order stay the same. If the inner one of the two loops is itself fused, it runs in rows too.
#pragma once

#include "samite/schedule/sites.h"

namespace samite::schedules {

// A loop whose index is part of a fused one; the rest of the fused index is known.
struct FusedRows {
  passes::Affine fused;                     // the index of the fused loop
  passes::Affine first, count;              // its first index, and its number of iterations
  passes::Affine outer, inner;              // the numbers of iterations of the two loops
  std::vector<const Nest::Fused *> within;  // fusions that the inner one comes from, the last one first
  bool all = false;                         // it is the whole fused loop
  bool with_next = false;                   // the next inner loop iterates over its chunks, and is part of it
};

// Fusions of unknown numbers of iterations that the inner loop of this one comes from: that loop's own, the one of its
// inner loop, and so on.
std::vector<const Nest::Fused *> fused_within(const Site &site, const Nest::Fused &fused);

// For loop number i, with the next inner one if nothing is between them.
std::optional<FusedRows> fused_rows(const Lowering &lowering, const Site &site, std::size_t i);

// Writes the loops; the inner one has this kind and contains what `inside` writes. `symbol` counts the iterations.
// Returns the local of the inner loop's index.
ir::LocalId loop_in_rows(Lowering &lowering, const FusedRows &rows, const passes::Symbol &symbol, ir::LoopKind kind,
                         const std::function<void()> &inside);

}  // namespace samite::schedules
