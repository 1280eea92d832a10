// Turns array elements that only one instance accesses into locals.
//
// Consider an array of `arrays` in which no two instances access the same element (passes/analysis/accesses.h): each
// instance owns its elements. Elements whose indices are equal in all accesses, or different constants, become one
// local each. If other indices tell the elements apart, say k in a(i, k), all elements that they can reach become a
// local array. The one tile that a block loads and stores becomes a local tile, which holds zeros beyond the array, as
// a load does. Elements inside of the array's extents are loaded before the first access and stored after the last one,
// and every access in between uses the local. The kernel computes the same results, but it may load and store elements
// that no access reached. If a block accesses several tiles, passes/tiles/privatise_tiles.h does the rest.
//
// Runs before differentiation: an adjoint can undo writes to locals, and the new kernel never reads an array element
// after writing it.
#pragma once

#include "samite/ir/kernel.h"

#include <vector>

namespace samite::passes {

struct Privatised {
  ir::Kernel kernel;       // structured form
  std::vector<bool> done;  // by parameter: those of `arrays` that were made local
};

// `arrays` is by parameter. Arrays with atomic operations that return the previous value stay unchanged.
Privatised privatise(const ir::Kernel &structured, const std::vector<bool> &arrays);

}  // namespace samite::passes
