// Takes atomics away where no two instances can meet.
//
// Of an adjoint kernel: additions to and exchanges of a gradient array become plain when each instance has elements of
// its own. That is so where for each launch dimension d one and the same of the indices is, in all accesses to the
// array, thread_index(d) plus the same number; the number may be a constant or anything that all instances share. The
// other indices may be anything: a(i, 0) and a(i, j), of a launch of one dimension, never meet with those of another i.
// Gradient arrays must not share memory with one another (the launcher checks).
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel relax_atomics(const ir::Kernel &adjoint);

}  // namespace samite::passes
