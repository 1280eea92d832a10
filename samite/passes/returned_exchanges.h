// Makes a load of an exchange whose value is put back.
//
// The adjoint of y(i) += … takes the gradient of y(i), because a store ends it, and adds it again, because the new
// value contains the old one. Where nothing in between touches the array and no other instance can
// (passes/relax_atomics.h), a load does the same. Then the element is not written: that is a quarter of the memory
// traffic of the adjoint of axpy.
//
// Runs last on an adjoint: earlier passes recognise by an exchange where a gradient ends.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel returned_exchanges(ir::Kernel adjoint);

}  // namespace samite::passes
