// Runs instances one after another if vectors of them would mostly gather, as in the rows of a sparse matrix.
//
//   for.thread %i in %first .. %last            for.block %i in %first .. %last
//     %b = load @offsets[%i]                      …                                # the same
//     %e = load @offsets[%i + 1]           →
//     for %k in %b .. %e carry …
//       %j = load @indices[%k]
//       %x = load @x[%j]
//
// In such a loop the lanes of a vector have different elements of every array, and different numbers of iterations. A
// gather takes as long as several loads, and lanes wait for the longest row. One instance reads neighbours instead, and
// the processor overlaps the loops of several instances.
//
// Applies to thread loops whose body has a loop with a varying number of iterations, for which the estimated cost of
// vectors is higher. Bodies that call functions stay in vectors, since these may round differently as scalars; so do
// bodies that do more than load, compute, store and add.
//
// For the CPU, and not for debug mode. A pure function of a lowered kernel.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel scalar_instances(ir::Kernel lowered);

}  // namespace samite::passes
