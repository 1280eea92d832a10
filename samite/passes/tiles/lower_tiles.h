// Lowers tiles to memory that the threads of a block share and loops over its elements.
//
// A tile that is needed as a whole gets shared memory (`local shared $1`). Each run of element-wise operations over
// equal extents becomes one loop, and values that are not needed outside of the run exist only in that loop. A load
// that is only reshaped to more dimensions uses those dimensions: on a GPU, in kernels that do not multiply, whose
// windows are loaded as a whole. On the CPU, tiles in between that do not depend on the run are computed before it.
// Reductions and matrix products become calls from memory to memory (`TileCall`). On a GPU so do loads of tiles that
// are needed as a whole, and casts to 16 bits of prefetched f32. A value that a loop carries stays in one place if an
// iteration can overwrite it with its result.
//
// Tiles that a loop keeps for its adjoint have shared memory too. On a GPU they are `kept` in device memory if they
// would take more than 16 KiB, or if their number is known only when the kernel runs.
//
// An element loop is a thread loop: over the last dimension, inside of serial loops over the others, or on a GPU over
// all elements. The threads of a block wait for each other after each such loop and after each call; in between they
// all run the same code.
//
// Runs after all passes that work on tiles as values, on the structured form; `lower_threads` comes next.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/analysis/architecture.h"

namespace samite::passes {

struct TileLowering {
  // Elements of a tile that add to the same place are added in element order, by a serial loop, so that floating-point
  // sums have the same bits each time. This is always so on the CPU.
  bool in_order = false;
  // On a GPU, a multi-stage loop prefetches arrays from which it computes factors element by element, which needs more
  // memory. Otherwise the elements are read from the array when the factor is computed.
  bool loads_ahead = true;
};

struct LoweredTiles {
  ir::Kernel kernel;
  bool loads_more = false;  // `loads_ahead` has changed the kernel
};
LoweredTiles lower_tiles_and_tell(ir::Kernel structured, const Architecture &architecture, TileLowering how = {});

// Returns other kernels unchanged.
ir::Kernel lower_tiles(ir::Kernel structured, const Architecture &architecture, TileLowering how = {});

}  // namespace samite::passes
