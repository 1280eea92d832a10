// The index of a tile kernel's block in the launch.
#pragma once

#include "samite/device/cuda/scalar.h"

namespace samite {

// Divides the number of a block by the number of blocks along a dimension; neither is negative. For launches that may
// have 2^31 blocks or more: few do, so a division that compiles quickly is worth more than one that runs quickly.
SAMITE_INLINE i64 quotient(i64 number, i64 of) {
  if ((u64(number) | u64(of)) >> 32 == 0) return i64(u32(number) / u32(of));
  u64 result = 0, rest = 0;
#pragma unroll 1
  for (int bit = 63; bit >= 0; --bit) {
    rest = rest << 1 | (u64(number) >> bit & 1);
    result <<= 1;
    if (rest >= u64(of)) {
      rest -= u64(of);
      result |= 1;
    }
  }
  return i64(result);
}

}  // namespace samite
