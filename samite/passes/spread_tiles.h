// Tiles that the registers of a block's threads hold, spread over all of them: part of `place_tiles`.
//
// What nothing does more to than load it from an array, go over it element by element, and reduce it, all of it or each
// of its rows, needs no memory that threads share. Such a tile with at least 4 elements for each thread is in
// registers, 4 elements of a row side by side, as long as all tiles of a loop lie alike, and at most 128 registers of a
// thread are taken.
#pragma once

#include "samite/passes/place_tiles.h"

namespace samite::passes {

// Adds to `placement`, where products and loads ahead have found their places.
void spread_tiles(const ir::Kernel &lowered, TilePlacement &placement);

// Whether a reduction is one of a tile as a whole, or of each of its rows.
bool reduces_all(const ir::TileCall &call);
bool reduces_rows(const ir::TileCall &call);

}  // namespace samite::passes
