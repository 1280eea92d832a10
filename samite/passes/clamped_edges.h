// Stencils whose indices are clamped to an image: the instances inside of it, where no clamp changes anything, run
// without them, and their accesses are those of neighbours.
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
// Of the innermost dimension, whose instances are the lanes of vectors: a clamped index is another one in each lane,
// which takes a load for each. The instances at both edges are few. They run one after another; where they call
// functions of floating-point numbers, which may round otherwise there, as lanes of vectors.
//
// For the CPU, and not for debug mode. A pure function of a lowered kernel; a tile kernel, and one that has several
// thread loops, stays as it is.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel clamped_edges(ir::Kernel lowered);

}  // namespace samite::passes
