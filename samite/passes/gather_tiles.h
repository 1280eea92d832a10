// Gathers the gradients of a tile kernel: a loop over the blocks that meet in a window, for each window.
//
// The adjoint of `C[i, j] = Σk A[i, k] B[k, j]` loops over k in block (i, j) and adds to the window (i, k) of A's
// gradient, where all blocks of row i meet: one atomic addition of a whole tile for each block and each k. But the
// window says which i and k it belongs to. So the block loops over windows instead, and sums over j:
//
//   for k { accumulate atomic ā[i, k] += f(i, j, k) }
//
//   becomes   for each k that is dealt to block j { sum = 0; for all j' { sum += f(i, j', k) }; ā[i, k] += sum }
//
// That is a product loop like the forward's: its sum stays in registers, in 32 bits where the gradient has 16, it loads
// ahead where the forward does, and it has one order. A window's index is a multiple of one index of the block or of
// the loop, or the same for all; the loop's bounds are the same for all blocks; and f needs nothing but loads and
// operations without effects. What does not fit stays as it was, next to what does.
//
// f reads gradients that the adjoint takes (`exchange`), which must stay until all blocks have read them: as in
// passes/gather.h, `gather` leaves them and `clear` sets them to zero.
//
// A block must be able to tell what the whole launch is, so that a launch is not divided among several calls.
#pragma once

#include "samite/passes/gather.h"

#include <functional>

namespace samite::passes {

// Nothing where no atomic addition can be gathered. `adjoint` is a structured tile kernel, with atomics relaxed; its
// gradient arrays share no memory.
std::optional<GatheredAdjoint> gather_tiles(const ir::Kernel &adjoint);

// How often the dealt loop runs, for the extents of the launch's arrays and the values of its scalar arguments (by
// parameter). Nothing where that cannot be told.
std::optional<std::int64_t> iterations(const GatheredAdjoint::DealtLoop &loop,
                                       const std::function<std::int64_t(ArrayDimension)> &extent,
                                       const std::function<ir::Value(const ir::Value &)> &parameter);

}  // namespace samite::passes
