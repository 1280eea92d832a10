// Debugging's checks on vectors: the lanes that may go on.
#pragma once

#include "samite/device/cpu/failure.h"
#include "samite/device/cpu/lanes/mask.h"

namespace samite::SAMITE_LANES_NAMESPACE {

template <class Index>
SAMITE_INLINE Mask in_bounds(Failure *failure, Mask m, Index index, i64 extent, u32 array, u32 dimension, u32 file,
                             u32 line, const Instance &instance = {}) {
  const I64 wide = __builtin_convertvector(index, I64);
  const Mask inside = to_mask(wide >= I64(0)) & to_mask(wide < I64(extent));
  const Mask outside = m & !inside;
  if (__builtin_expect(any(outside), 0)) {
    const i32 lane = first_active(outside);
    const Instance failed = of_lane(instance, lane);
    report(failure, failure_index, array, dimension, wide[lane], extent, file, line, &failed);
  }
  return m & inside;
}

template <class V>
SAMITE_INLINE void check_divisor(Failure *failure, Mask m, V divisor, u32 file, u32 line,
                                 const Instance &instance = {}) {
  const Mask zero = m & to_mask(divisor == V(0));
  if (__builtin_expect(any(zero), 0)) {
    const Instance failed = of_lane(instance, first_active(zero));
    report(failure, failure_division, 0, 0, 0, 0, file, line, &failed);
  }
}

// For what all lanes do together: the instance of the first active lane, if there is one.
SAMITE_INLINE Instance of_first(const Instance &instance, Mask m) {
  return any(m) ? of_lane(instance, first_active(m)) : instance;
}

}  // namespace samite::SAMITE_LANES_NAMESPACE
