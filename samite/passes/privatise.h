// Makes locals of array elements that one instance alone touches.
//
// Of an array of `arrays` that no two instances meet in (passes/accesses.h), each instance has elements of its own:
// those whose indices are the same, or different constants, in all accesses become a local each; where other indices
// tell the elements apart, say k in a(i, k), all that they can reach becomes a local array. The one tile that a block
// loads and stores becomes a local tile, zero beyond the array as if it were loaded. Elements are loaded before
// the first access and stored after the last one, where they are inside the array's extents; every access between is
// one to the local. What a kernel computes stays as it is. What it takes does not: it may load and store elements
// that no access would have reached.
//
// That is for derivation: the adjoint knows how to take back what happens to locals, and the kernel reads no element
// after it has written to it.
#pragma once

#include "samite/ir/kernel.h"

#include <vector>

namespace samite::passes {

struct Privatised {
  ir::Kernel kernel;       // structured form
  std::vector<bool> done;  // by parameter: those of `arrays` that are the instances' own
};

// `arrays` is by parameter. Arrays with atomic operations that give the old value are left alone.
Privatised privatise(const ir::Kernel &structured, const std::vector<bool> &arrays);

}  // namespace samite::passes
