// Gathers the gradients of products whose result is made into something else, such as a layer's: the cotangent of the
// product is computed once, by a kernel of its own, and read by those that multiply.
//
// The adjoint of `C[i, j] = f(Σk A[i, k] B[k, j])` computes the sums again, and of these and the cotangent of C that of
// the sums, d. Then it loops over k, and adds to the windows of both gradients. These loops could be gathered
// (passes/gather_tiles.h) if d were in an array, as the cotangent of C is. So it is put into one:
//
//   s = Σ …; d = s, take c̄[i, j] …               becomes      … copy[i, j] = d                (`before`)
//   for k { accumulate atomic ā[i, k] += d … }                for k { d = load copy[i, j]; accumulate … }   (gathered)
//
// The array has the extents of the one whose cotangent a block takes, where no other block touches it, by a window as
// large as the value. It has 16 bits where the loops do nothing with the value but round it to so many. What a block
// computes beyond the array is lost, as it should be: there the cotangents of C are zeros.
//
// All else that the adjoint does is done by `before`: the gradients of what the epilogue reads, and the cotangents that
// are taken.
#pragma once

#include "samite/passes/gather.h"

#include <optional>

namespace samite::passes {

// Nothing where that does not make all of the loops' additions ones that are gathered. `adjoint` as gather_tiles has
// it.
std::optional<GatheredAdjoint> gather_computed(const ir::Kernel &adjoint, bool wide = false);

}  // namespace samite::passes
