// Gathers the gradients of a tile kernel: for each window of a gradient, one block loops over all blocks that add to
// it.
//
// The adjoint of `C[i, j] = Σk A[i, k] B[k, j]` loops over k in block (i, j) and adds to the window (i, k) of A's
// gradient. All blocks of row i add to that window: one atomic addition of a whole tile for each block and each k. But
// the window determines i and k. So a block can loop over windows instead, and sum over j:
//
//   for k { accumulate atomic ā[i, k] += f(i, j, k) }
//
//   becomes   for each k dealt to block j { sum = 0; for all j' { sum += f(i, j', k) }; ā[i, k] += sum }
//
// That is a main loop like the forward kernel's. Its sums stay in registers, in 32 bits for 16-bit gradients, and have
// a fixed order; the loop prefetches if the forward's does. It needs three things: each index of the window is a
// multiple of one index of the block or of the loop, or the same for all; the bounds of the loop are the same for all
// blocks; and f has only loads and operations without effects. An addition that does not fit stays as it was.
//
// f reads gradients that the adjoint takes (`exchange`). They must stay until all blocks have read them: as in
// passes/adjoint/gather.h, `gather` only loads them and `clear` sets them to zero.
//
// If windows of a product are neighbours, `wide` processes several together (passes/adjoint/wide_windows.h).
//
// A block must know the extents of the whole launch, so one launch is never divided among several calls.
#pragma once

#include "samite/passes/adjoint/gather.h"

#include <functional>

namespace samite::passes {

// Empty if no atomic addition can be gathered; with `wide`, also if no windows can be combined. `adjoint` is a
// structured tile kernel, with atomics relaxed; its gradient arrays share no memory.
std::optional<GatheredAdjoint> gather_tiles(const ir::Kernel &adjoint, bool wide = false);

// The number of distributed windows, for the extents of the launch's arrays and the values of its scalar arguments (by
// parameter). Empty if it is unknown, or if wide windows would reach into the array beyond the last one.
std::optional<std::int64_t> iterations(const GatheredAdjoint::DealtLoop &loop,
                                       const std::function<std::int64_t(ArrayDimension)> &extent,
                                       const std::function<ir::Value(const ir::Value &)> &parameter);

}  // namespace samite::passes
