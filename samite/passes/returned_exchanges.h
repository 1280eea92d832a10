// Reads what would be taken and put back.
//
// The adjoint of y(i) += … takes the gradient of y(i), which a store ends, and adds it again, since the old value went
// on into the new one. Where nothing in between touches the array and no other instance can (passes/relax_atomics.h),
// that is a load: the element is then not written, a quarter of the memory that the adjoint of axpy moves.
//
// Runs last on an adjoint, since what goes before knows the ends of gradients by their exchanges.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel returned_exchanges(ir::Kernel adjoint);

}  // namespace samite::passes
