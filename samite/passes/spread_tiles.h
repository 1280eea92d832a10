// Tiles that the registers of a block's threads hold, spread over all of them.
//
// What nothing does more to than load it from an array, go over it element by element, and reduce it, all of it or each
// of its rows, needs no memory that threads share. Such a tile with at least 4 elements for each thread is in
// registers, 4 elements of a row side by side, as long as all tiles of a loop lie alike, and at most 128 registers of a
// thread are taken.
//
// What such a tile as a whole is reduced to each thread has (`everywhere`, ir/layout.h): each warp reduces for itself
// what the warps have found, and nobody waits for one thread to do it, nor for others to have read the result. So does
// each thread have what loops over one element make of such values and of nothing else.
//
// Where a block's threads hold tiles that they have loaded, they wait for memory most of the time: the more blocks
// there are, the better, down to what a thread needs beside its tiles. This writes how many into the kernel
// (`resident_blocks`). Not where there are products, which need registers of their own.
//
// After place_tiles and stage_loads. A pure function of a lowered kernel.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/architecture.h"

namespace samite::passes {

ir::Kernel spread_tiles(ir::Kernel placed, const Architecture &architecture);

// Whether a lowered kernel multiplies matrices.
bool has_products(const ir::Kernel &kernel);

// Whether a reduction is one of a tile as a whole, or of each of its rows or columns.
bool reduces_all(const ir::TileCall &call);
bool reduces_rows(const ir::TileCall &call);
bool reduces_columns(const ir::TileCall &call);

}  // namespace samite::passes
