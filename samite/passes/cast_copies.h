// Does once the casts that a gathered adjoint would repeat.
//
// The cotangent of a product of 16-bit factors has 32 bits where the sums have 32 bits, and the adjoint rounds it to
// the type of the factors before it multiplies. In a gathered adjoint each block loads and rounds every window that it
// needs, for both products: that is most of what they read. Instead, a kernel over the same launch writes the rounded
// cotangent to a copy. The gathered adjoint loads the copy like any factor:
//
//   for … { c = load ḡ[w]; … cast f16 (c) … }      becomes      copy[w] = cast f16 (load ḡ[w])   (`copy`, run before)
//                                                               for … { … load copy[w] … }       (`gather`)
//
// Where windows reach beyond the array they are zero, before the cast and after it.
#pragma once

#include "samite/passes/gather.h"

namespace samite::passes {

struct CastCopies {
  ir::Kernel copy, gather;  // structured; their parameters are the adjoint's, and then the copies
  std::vector<CotangentCopy> copies;
};

// Nothing where no cast is worth a copy. `gathered` is as gather_tiles makes it: `clear` sets to zero exactly what the
// adjoint takes.
std::optional<CastCopies> copy_casts(const GatheredAdjoint &gathered);

}  // namespace samite::passes
