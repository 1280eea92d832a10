// Takes atomics away where no two instances can meet.
//
// Of an adjoint kernel: additions to and exchanges of a gradient array become plain when all of them use the same
// indices, and those are provably one-to-one over the launch: each launch dimension d appears as its thread index, plus
// something that is the same for all instances, as one of the indices. Gradient arrays must not share memory with one
// another (the launcher checks).
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel relax_atomics(const ir::Kernel &adjoint);

}  // namespace samite::passes
