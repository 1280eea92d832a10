// Removes atomics where no two instances can access one element.
//
// In an adjoint kernel, additions to a gradient array, and exchanges of it, become plain where each instance has
// elements of its own. That is so where for each dimension d of the launch there is one index of the array that is, in
// all accesses, thread_index(d) plus the same number. The number may be a constant or anything that is the same for all
// instances. The other indices may be anything: in a launch of one dimension, a(i, 0) and a(i, j) are never elements of
// another i. Gradient arrays must not share memory with one another (the launcher checks).
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel relax_atomics(const ir::Kernel &adjoint);

}  // namespace samite::passes
