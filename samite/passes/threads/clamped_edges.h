// Splits stencils with clamped indices: interior instances run without the clamps, with accesses to neighbours.
//
//   for.thread %i in %begin .. %end           for.thread %i in %first .. %last         # a copy
//     %l = sub %i, 1                            %l = sub %i, 1
//     %m = max %l, 0                            %a = load @x[%l]
//     %a = load @x[%m]                  →       …
//     …                                       for.block %e in 0 .. %edges
//                                               %i = …       # before %first or from %last on
//                                               %l = sub %i, 1
//                                               %m = max %l, 0
//                                               …
//
// This applies to the innermost dimension, whose instances are the lanes of vectors: clamped indices differ irregularly
// between lanes, which takes a load for each lane. The few instances at both edges run one after another; if they call
// floating-point functions, which may round differently as scalars, they run as lanes of vectors.
//
// For the CPU, and not for debug mode. A pure function of a lowered kernel; tile kernels, and kernels with several
// thread loops, stay unchanged.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel clamped_edges(ir::Kernel lowered);

}  // namespace samite::passes
