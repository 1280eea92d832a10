// Casts a cotangent once, instead of repeatedly in a gathered adjoint.
//
// Consider a product of 16-bit factors with 32-bit sums. Its cotangent has 32 bits, and the adjoint rounds it to the
// factors' type before it multiplies. In a gathered adjoint each block loads and rounds every window that it needs, for
// both products, which is most of what these kernels read. Instead, a kernel over the same launch writes the rounded
// cotangent to a copy, and the gathered adjoint loads that copy like any factor:
//
//   for … { c = load ḡ[w]; … cast f16 (c) … }      becomes      copy[w] = cast f16 (load ḡ[w])   (`copy`, run before)
//                                                               for … { … load copy[w] … }       (`gather`)
//
// Windows that reach beyond the array hold zeros there, before and after the cast.
#pragma once

#include "samite/passes/adjoint/gather.h"

namespace samite::passes {

struct CastCopies {
  ir::Kernel copy, gather;  // structured; their parameters are the adjoint's, followed by the copies
  std::vector<CotangentCopy> copies;
};

// Empty if no cast is worth a copy. `gathered` is a result of gather_tiles: `clear` zeroes exactly what the adjoint
// takes.
std::optional<CastCopies> copy_casts(const GatheredAdjoint &gathered);

}  // namespace samite::passes
