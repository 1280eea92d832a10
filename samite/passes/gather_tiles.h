// Gathers the gradients of a tile kernel: for each window of a gradient, one block loops over the blocks that add to
// it.
//
// The adjoint of `C[i, j] = Σk A[i, k] B[k, j]` loops over k in block (i, j) and adds to the window (i, k) of A's
// gradient. All blocks of row i add to that window: one atomic addition of a whole tile for each block and each k. But
// the window says which i and k it belongs to. So a block loops over windows instead, and sums over j:
//
//   for k { accumulate atomic ā[i, k] += f(i, j, k) }
//
//   becomes   for each k that falls to block j { sum = 0; for all j' { sum += f(i, j', k) }; ā[i, k] += sum }
//
// That is a loop of products like the forward's. Its sum stays in registers, in 32 bits where the gradient has 16, and
// has one order; the loop prefetches where the forward's does. Three things are required. Each index of the window is a
// multiple of one index of the block or of the loop, or the same for all. The bounds of the loop are the same for all
// blocks. And f needs nothing but loads and operations without effects. An addition that does not fit stays as it was.
//
// f reads gradients that the adjoint takes (`exchange`). They must stay until all blocks have read them: as in
// passes/gather.h, `gather` only loads them and `clear` sets them to zero.
//
// Where windows of a product lie side by side, `wide` takes several together (passes/wide_windows.h).
//
// A block must know the extents of the whole launch. So a launch is not divided among several calls.
#pragma once

#include "samite/passes/gather.h"

#include <functional>

namespace samite::passes {

// Nothing where no atomic addition can be gathered; nor, if `wide`, where no windows can be taken together. `adjoint`
// is a structured tile kernel, with atomics relaxed; its gradient arrays share no memory.
std::optional<GatheredAdjoint> gather_tiles(const ir::Kernel &adjoint, bool wide = false);

// How many windows are distributed, for the extents of the launch's arrays and the values of its scalar arguments (by
// parameter). Nothing where that cannot be told, and where wide ones would reach into the array beyond the last one.
std::optional<std::int64_t> iterations(const GatheredAdjoint::DealtLoop &loop,
                                       const std::function<std::int64_t(ArrayDimension)> &extent,
                                       const std::function<ir::Value(const ir::Value &)> &parameter);

}  // namespace samite::passes
