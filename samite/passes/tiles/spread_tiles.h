// Spreads tiles that are only loaded, processed element by element and reduced (as a whole or by rows) over the
// registers of all threads of a block. They need no shared memory.
//
// Such a tile is in registers if it has at least 4 elements for each thread, with 4 neighbours of a row together. All
// tiles of a loop must have the same layout, and a thread spends at most 128 registers on them.
//
// Every thread gets the result of reducing a whole tile (`everywhere`, ir/layout.h): each warp combines the warps'
// partial results on its own, so that no thread waits for another to do it or to have read the result. Loops over one
// element that only use such values run in every thread too.
//
// Threads that hold loaded tiles mostly wait for memory, so more resident blocks are better, as long as each thread has
// the registers that it needs in addition to its tiles. The pass writes the number of blocks into the kernel
// (`resident_blocks`). It does not do that for kernels with products, which need the registers.
//
// A pure function of a lowered kernel.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/analysis/architecture.h"

namespace samite::passes {

ir::Kernel spread_tiles(ir::Kernel placed, const Architecture &architecture);

// Whether a lowered kernel multiplies matrices.
bool has_products(const ir::Kernel &kernel);

// Whether a reduction is of a whole tile, or of each of its rows or columns.
bool reduces_all(const ir::TileCall &call);
bool reduces_rows(const ir::TileCall &call);
bool reduces_columns(const ir::TileCall &call);

}  // namespace samite::passes
