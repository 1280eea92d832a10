// Masks: which lanes are active.
#pragma once

#include "samite/device/cpu/lanes/types.h"

namespace samite::SAMITE_LANES_NAMESPACE {

// From a comparison of vectors, whose results are integers of all ones or zeros.
template <class V>
SAMITE_INLINE Mask to_mask(V comparison) {
  return __builtin_convertvector(comparison, Mask);
}

// A bool as a number: 0 or 1.
template <class V>
SAMITE_INLINE V from_mask(Mask m) {
  return m ? V(1) : V(0);
}

SAMITE_INLINE Mask all_lanes() { return Mask(true); }

// The first `count` lanes; all lanes if there are fewer.
SAMITE_INLINE Mask first_lanes(i64 count) {
#if SAMITE_LANES > 16
  return to_mask(lane_u8 < u8(count < 0 ? 0 : count < lane_count ? count : lane_count));
#else
  return to_mask(lane_i32 < i32(count < lane_count ? count : lane_count));
#endif
}

// The number of instances from 0 to before `count` for which `first` + instance is less than `bound`; less than 1 if
// there are none.
SAMITE_INLINE i64 up_to(i64 count, i64 bound, i64 first) {
  i64 rest;
  if (__builtin_sub_overflow(bound, first, &rest)) return bound < first ? 0 : count;
  return rest < count ? rest : count;
}
// The number of these instances that are in full vectors.
SAMITE_INLINE i64 in_whole_vectors(i64 count) { return count < 0 ? 0 : count & -i64(lane_count); }

SAMITE_INLINE bool any(Mask m) { return __builtin_reduce_or(m); }

// Bit k for lane k.
#if SAMITE_LANES == 64
using LaneBits = u64;
#else
using LaneBits = u32;
#endif
SAMITE_INLINE LaneBits bits(Mask m) {
#if SAMITE_LANES >= 32
  return __builtin_bit_cast(LaneBits, m);
#elif SAMITE_LANES == 16
  return __builtin_bit_cast(u16, m);
#else
  return __builtin_bit_cast(u8, m) & ((1u << SAMITE_LANES) - 1);
#endif
}

SAMITE_INLINE i32 count(Mask m) { return __builtin_popcountg(bits(m)); }

// Some lane must be active.
SAMITE_INLINE i32 first_active(Mask m) { return __builtin_ctzg(bits(m)); }
SAMITE_INLINE i32 last_active(Mask m) { return i32(8 * sizeof(LaneBits)) - 1 - __builtin_clzg(bits(m)); }

// The smallest and the largest number of an active lane, or `otherwise` if that is beyond.
template <class T, class V>
SAMITE_INLINE T smallest_or(Mask m, T otherwise, V numbers) {
  return __builtin_reduce_min(m ? numbers : V(otherwise));
}
template <class T, class V>
SAMITE_INLINE T largest_or(Mask m, T otherwise, V numbers) {
  return __builtin_reduce_max(m ? numbers : V(otherwise));
}

// Runs the statement that follows for each active lane, in order, as `k`.
#define SAMITE_FOR_EACH_ACTIVE(k, m) \
  for (LaneBits left_ = bits(m), k = 0; left_ != 0 && (k = LaneBits(__builtin_ctzg(left_)), true); left_ &= left_ - 1)

}  // namespace samite::SAMITE_LANES_NAMESPACE
