// Zeros that a loop over elements leaves where it takes what an array has, in a loop of their own behind it.
//
//   for.thread %i …                       for.thread %i …
//     %x = exchange @y_gradient[…]   →      %x = load @y_gradient[…]
//     …                                     …
//                                         for.thread %j …
//                                           store @y_gradient[…] = 0
//
// An exchange stores behind its load, so that a thread loads its next element when this one has come: the compiler
// cannot know that the two are not the same. Of 32 elements each, that is half of the adjoint of a layer of a network.
//
// Only of plain exchanges, where the loop touches the array in no other way, and no other array of the loop may share
// memory with it. Before place_tiles: another thread may clear an element than has loaded it, and barriers
// come later. A pure function of a lowered kernel.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/array_facts.h"

namespace samite::passes {

ir::Kernel clear_apart(ir::Kernel lowered, const FactsOfArrays &arrays);

}  // namespace samite::passes
