// From tiles to memory that the threads of a block share, and loops over its elements.
//
// A tile that is needed as a whole gets shared memory (`local shared $1`). Operations that are done element by element
// become one loop for each run of them over equal extents: what is not needed outside of the run lives in the loop
// alone. A load that is only reshaped to more dimensions has these: on a GPU, in kernels that do not multiply, whose
// windows are loaded as a whole. On the CPU, tiles in between that need nothing of the run come before it. Reductions
// and products of matrices become calls from memory to memory (`TileCall`), and so, on a GPU, do loads of tiles that
// are needed as a whole, and casts of f32 that was loaded ahead to 16 bits. Values that a loop carries stay in one
// place, where what an iteration makes of them can be written over them.
//
// Tiles that a loop keeps for its adjoint have shared memory too; on a GPU, those that would take more than 16 KiB
// of it, and those whose number is known only when the kernel runs, are `kept` in device memory.
//
// A loop over elements is a thread loop: the last dimension's, inside of serial loops over the others, or, on a GPU,
// one over all elements. The threads of a block wait for each other after each of them and after each call; elsewhere
// they all do the same.
//
// Runs after everything that knows tiles, on the structured form; `lower_threads` comes next.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/architecture.h"

namespace samite::passes {

struct TileLowering {
  // Numbers that several elements of a tile add to one place are added in the order of the elements, by a serial loop,
  // so that a sum of floating numbers has the same bits each time. On the CPU they always are.
  bool in_order = false;
  // On a GPU, a loop of several stages has in memory what it loads and makes factors of, element by element, for which
  // it needs more memory. Otherwise the elements are read from the array when the factor is made.
  bool loads_ahead = true;
};

// The kernel itself where it is no tile kernel.
ir::Kernel lower_tiles(ir::Kernel structured, const Architecture &architecture, TileLowering how = {});

}  // namespace samite::passes
