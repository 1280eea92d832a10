// Makes locals of array elements that one instance alone accesses.
//
// In an array of `arrays` where no two instances access one element (passes/accesses.h), each instance has elements of
// its own. Elements whose indices are the same, or different constants, in all accesses become a local each. Where
// other indices tell the elements apart, say k in a(i, k), all elements that they can reach become a local array. The
// one tile that a block loads and stores becomes a local tile, which is zero beyond the array, as if it were loaded.
// Elements that are inside the array's extents are loaded before the first access and stored after the last one. Every
// access between is one to the local. The kernel computes the same results, but it may load and store elements that no
// access reached.
//
// The pass runs before differentiation: an adjoint can undo writes to locals, and the new kernel reads no array element
// after it has written to it.
#pragma once

#include "samite/ir/kernel.h"

#include <vector>

namespace samite::passes {

struct Privatised {
  ir::Kernel kernel;       // structured form
  std::vector<bool> done;  // by parameter: those of `arrays` that were made local
};

// `arrays` is by parameter. Arrays with atomic operations that give the old value are left alone.
Privatised privatise(const ir::Kernel &structured, const std::vector<bool> &arrays);

}  // namespace samite::passes
