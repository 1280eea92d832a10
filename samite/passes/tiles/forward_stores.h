// Replaces loads of elements that the same block has just stored by the stored value.
//
// An adjoint cannot read an array's contents from the middle of a launch. If a tile kernel stores a tile and loads it
// back at the same place, it need not: the tile is available. So a load of a tile, or of an element, whose place and
// extents equal those of an earlier store takes the stored value, zero beyond the array, if the place is not written in
// between, and no other block accesses the array's elements or all blocks store the same value. The load may be deeper
// in branches and loops than the store.
//
// The pass runs before differentiation, and only on tile kernels: instances of other kernels have their own elements,
// which passes/threads/privatise.h makes locals. That pass also handles arrays with a single tile accessed by each
// block; this one handles several. The kernel computes the same results.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

// For a kernel in structured form, whose arrays share no memory.
ir::Kernel forward_stores(ir::Kernel structured);

}  // namespace samite::passes
