// Turns an exchange whose value is added back into a load.
//
// The adjoint of y(i) += … takes the gradient of y(i), because a store overwrites y(i), and adds it back, because the
// new value contains the old one. If the array is not accessed in between, and no other instance can access the element
// (passes/adjoint/relax_atomics.h), a load does the same. Then the element is not written: that saves a quarter of the
// memory traffic of the adjoint of axpy.
//
// Runs last on an adjoint: earlier passes recognise by an exchange that a gradient ends there.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel exchanges_to_loads(ir::Kernel adjoint);

}  // namespace samite::passes
