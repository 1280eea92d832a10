// Moves the zeros that a loop over elements stores, when it takes an array's elements, to a separate loop after it.
//
//   for.thread %i …                       for.thread %i …
//     %x = exchange @y_gradient[…]   →      %x = load @y_gradient[…]
//     …                                     …
//                                         for.thread %j …
//                                           store @y_gradient[…] = 0
//
// An exchange stores after its load, so a thread loads its next element only when this one has arrived: the compiler
// cannot prove that they differ. With 32 elements in each thread, that is half of the adjoint of a network's layer.
//
// Applies only to plain exchanges, if the loop does not access the array otherwise, and if no other array of the loop
// may share memory with it. The thread that clears an element need not be the one that loaded it: the barrier between
// the loops is inserted with all others. A pure function of a lowered kernel.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/analysis/array_facts.h"

namespace samite::passes {

ir::Kernel split_zero_fills(ir::Kernel lowered, const FactsOfArrays &arrays);

}  // namespace samite::passes
