// Splits stencils with clamped indices: interior instances run without the clamps, with accesses to neighbours.
//
//   for.thread %i in %begin .. %end           for.thread %j in %first .. %last         # a copy
//     %l = sub %i, 1                            %k = sub %j, 1
//     %m = max %l, 0                            %b = load @x[%k]
//     %a = load @x[%m]                  →       …
//     …                                       for.block %edge in 0 .. 2
//                                               for.thread %i in …                     # before %first, from %last on
//                                                 %l = sub %i, 1
//                                                 %m = max %l, 0
//                                                 …
//
// This applies to the innermost dimension, whose instances are the lanes of vectors. The interior begins and ends
// between two vectors, so that a row takes no more vectors than without clamps. At an edge, a vector loads neighbours
// and repeats the last one (`load_clamped` in device/cpu/lanes/memory.h).
//
// If clamped indices do more than load from rows, they differ irregularly between lanes. The few instances at both
// edges then run one after another; if they call floating-point functions, which may round differently as scalars, they
// run as lanes of vectors.
//
// For the CPU, and not for debug mode. A pure function of a lowered kernel; tile kernels, and kernels with several
// thread loops, stay unchanged.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel clamped_edges(ir::Kernel lowered);

}  // namespace samite::passes
