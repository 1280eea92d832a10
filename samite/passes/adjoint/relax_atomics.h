// Replaces atomic operations by plain ones if no two instances can access the same element.
//
// In an adjoint kernel, additions to a gradient array, and exchanges of it, become plain if each instance has its own
// elements. That holds if for each dimension d of the launch one index of the array is thread_index(d) plus the same
// number in all accesses. The number may be a constant or anything that all instances share. The other indices may be
// anything: in a launch of one dimension, a(i, 0) and a(i, j) never belong to another i. Gradient arrays must not share
// memory with one another, which the launcher checks.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel relax_atomics(const ir::Kernel &adjoint);

}  // namespace samite::passes
