// Makes the gradients of products with an epilogue, such as a layer's activation, gatherable: a separate kernel
// computes the cotangent of the product once, and the products load it.
//
// The adjoint of `C[i, j] = f(Σk A[i, k] B[k, j])` recomputes the sums, and from these and the cotangent of C the
// cotangent of the sums, d. Then it loops over k, and adds to the windows of both gradients. These loops could be
// gathered (passes/adjoint/gather_tiles.h) if d were in an array, like the cotangent of C. So d is stored in one:
//
//   s = Σ …; d = s, take c̄[i, j] …               becomes      … copy[i, j] = d                (`before`)
//   for k { accumulate atomic ā[i, k] += d … }                for k { d = load copy[i, j]; accumulate … }   (gathered)
//
// The array has the extents of the array whose cotangent a block takes by a window as large as the value, which no
// other block accesses. It has 16 bits if the loops only round the value to 16 bits. Elements of a window beyond the
// array are dropped, so the value must be zero there, as the cotangents of C are.
//
// `before` also does the rest of the adjoint: it computes the gradients of the epilogue's other inputs, and takes the
// cotangents.
#pragma once

#include "samite/passes/adjoint/gather.h"

#include <optional>

namespace samite::passes {

// Empty if that does not make all additions of the loops gatherable. `adjoint` is as for gather_tiles.
std::optional<GatheredAdjoint> gather_recomputed(const ir::Kernel &adjoint, bool wide = false);

}  // namespace samite::passes
