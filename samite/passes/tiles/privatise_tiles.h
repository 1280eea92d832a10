// Turns the part of an array that a block alone accesses into local tiles: loads and stores of different tiles.
//
// passes/threads/privatise.h serves where one tile is all that a block accesses. This pass serves where a block stores
// some tiles and loads others: parts of what it has stored, tiles that several stores made up, elements, or in a later
// loop what an earlier one stored. In each dimension of the array either
//   - all accesses begin a constant apart: the local tile reaches from the first element to the last one, or
//   - they begin at steps of a constant length, such as k * 8 + 4: there is a local tile for each step, all along the
//     array.
// A store writes into local tiles, a load takes parts of them, and what lies beyond the array is zero. All local tiles
// are loaded before the first access and stored after the last. So an element that the block has not stored has the
// value from before the kernel, as it should.
//
// No two blocks may meet in these tiles. That holds where dimensions of the first kind keep the blocks apart, or where
// the kernel does not ask for its index: then all blocks do the same.
#pragma once

#include "samite/passes/threads/privatise.h"

namespace samite::passes {

// `arrays` is by parameter. Leaves alone arrays with gathers, atomic operations or accesses in custom adjoints.
Privatised privatise_tiles(const ir::Kernel &structured, const std::vector<bool> &arrays);

}  // namespace samite::passes
