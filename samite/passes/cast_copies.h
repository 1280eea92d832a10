// Casts that a gathered adjoint repeats, made once.
//
// The cotangent of a product of 16-bit factors has 32 bits where its sums do, and the adjoint multiplies it rounded to
// the factors' type. Gathered, every window of it is loaded and rounded again by each block that meets there, in both
// products: that is most of what they read. Instead a kernel of its own, over the same launch, writes it rounded to a
// copy, which the gathered adjoint loads as it loads any factor:
//
//   for … { c = load ḡ[w]; … cast f16 (c) … }      becomes      copy[w] = cast f16 (load ḡ[w])   (`copy`, run before)
//                                                               for … { … load copy[w] … }       (`gather`)
//
// Windows that reach beyond the array are zero there, before the cast and after it.
#pragma once

#include "samite/passes/gather.h"

namespace samite::passes {

// A parameter that has the rank and the extents of `array`, and memory of its own, which nothing else uses while the
// two kernels run.
struct CastCopy {
  std::uint32_t parameter, array;
  friend bool operator==(const CastCopy &, const CastCopy &) = default;
};

struct CastCopies {
  ir::Kernel copy, gather;  // structured; their parameters are the adjoint's, and then the copies
  std::vector<CastCopy> copies;
};

// Nothing where no cast is worth it. `gather` and `clear` as gather_tiles has made them: what `clear` sets to zero is
// what the adjoint takes, whole.
std::optional<CastCopies> copy_casts(const GatheredAdjoint &gathered);

}  // namespace samite::passes
