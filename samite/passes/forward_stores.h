// Loads of what the same block has just stored become that value.
//
// An adjoint cannot read what an array held in the middle of a launch. A tile kernel that stores a tile and loads it
// back at the same place needs no such value: the tile is there. So a load of a tile, or of an element, whose place and
// extents are those of a store before it takes the stored value, zero beyond the array, where nothing between has
// written to the place, and no other block accesses the array's elements or all of them store the same. The load may stand deeper in branches and loops
// than the store.
//
// The pass runs before differentiation, and on tile kernels alone: instances of other kernels have elements of their
// own, which passes/privatise.h makes locals. Where one tile is all that a block accesses of an array, that pass serves
// as well; this one serves where there are several. The kernel computes the same results.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

// Of a kernel in structured form, whose arrays share no memory.
ir::Kernel forward_stores(ir::Kernel structured);

}  // namespace samite::passes
