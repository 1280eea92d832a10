// Turns the part of an array that only one block accesses into local tiles, for loads and stores of different tiles.
//
// passes/threads/privatise.h handles blocks that access a single tile. This pass handles blocks that store some tiles
// and load others: parts of a stored tile, tiles that several stores made up, elements, or in a later loop a tile that
// an earlier loop stored. In each dimension of the array either
//   - all accesses begin a constant apart: the local tile reaches from the first element to the last one, or
//   - they begin at steps of a constant length, such as k * 8 + 4: there is a local tile for each step, all along the
//     array.
// A store writes into local tiles, a load takes parts of them, and elements beyond the array are zero. All local tiles
// are loaded before the first access and stored after the last. So an element that the block has not stored has its
// value from before the kernel, as it should.
//
// No two blocks may access the same elements of these tiles. That holds if dimensions of the first kind separate the
// blocks, or if the kernel does not use its block index: then all blocks do the same.
#pragma once

#include "samite/passes/threads/privatise.h"

namespace samite::passes {

// `arrays` is by parameter. Skips arrays with gathers, atomic operations or accesses in custom adjoints.
Privatised privatise_tiles(const ir::Kernel &structured, const std::vector<bool> &arrays);

}  // namespace samite::passes
