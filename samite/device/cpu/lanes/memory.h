// Masked memory access. A lane that is not active touches nothing and reads zero. A bool in memory is one byte.
#pragma once

#include "samite/device/cpu/lanes/mask.h"

namespace samite::SAMITE_LANES_NAMESPACE {

// The letter of vector registers in inline assembly, and the bytes of the widest one.
#if defined(__AVX512F__)
#define SAMITE_IN_REGISTER "+v"
constexpr u64 widest_register = 64;
#elif defined(__AVX__)
#define SAMITE_IN_REGISTER "+x"
constexpr u64 widest_register = 32;
#elif defined(__SSE2__)
#define SAMITE_IN_REGISTER "+x"
constexpr u64 widest_register = 16;
#elif defined(__aarch64__)
#define SAMITE_IN_REGISTER "+w"
constexpr u64 widest_register = 16;
#else
#define SAMITE_IN_REGISTER "+m"
constexpr u64 widest_register = 0;
#endif

template <class V>
constexpr bool fits_register = sizeof(V) >= 16 && sizeof(V) <= widest_register;

// Hides a value's origin from the compiler. A fence of arithmetic would be cheaper to compile, but LLVM moves the load
// that precedes it past later stores.
template <class V>
SAMITE_INLINE V opaque(V value) {
  if constexpr (fits_register<V>)
    asm("" : SAMITE_IN_REGISTER(value));
  else
    asm("" : "+m"(value));  // of a size that no register has
  return value;
}
#undef SAMITE_IN_REGISTER

// From p[lane] and to it.
//
// Clang 22 merges a masked load and a selection by the same mask into one load, and moves it to the selection: even
// past a store to the same place. If no lane is off, there is no selection.
template <class T>
SAMITE_INLINE Vector<T> load(Mask m, const T *p) {
  const Vector<T> value = __builtin_masked_load(m, p, Vector<T>(0));
  const auto active = bits(m);
  if constexpr (fits_register<Vector<T>>) {  // a choice of lanes, which takes less to compile than a branch
    const Mask known = __builtin_constant_p(active) ? all_lanes() : Mask(false);
    return known ? value : opaque(value);
  } else {
    return __builtin_constant_p(active) ? value : opaque(value);
  }
}
SAMITE_INLINE Mask load(Mask m, const bool *p) { return to_mask(load(m, reinterpret_cast<const u8 *>(p)) != U8(0)); }

// If the mask is known to have one lane, as at the last element of a row, Clang 22 stores the element in its type
// before the narrowing, and so overwrites the following elements.
template <class T>
SAMITE_INLINE void store(Mask m, T *p, Vector<T> value) {
  if constexpr (sizeof(T) < 4) {
    const auto active = bits(m);
    if (__builtin_constant_p(active) && active != 0 && (active & (active - 1)) == 0) {
      p[last_active(m)] = value[last_active(m)];
      return;
    }
  }
  __builtin_masked_store(m, value, p);
}
SAMITE_INLINE void store(Mask m, bool *p, Mask value) { store(m, reinterpret_cast<u8 *>(p), from_mask<U8>(value)); }

// Loads from p[offset of the lane] and stores to it; if two active lanes have one offset, the later lane's value stays.
template <class T, class Offset>
SAMITE_INLINE Vector<T> gather(Mask m, const T *p, Offset offsets) {
  return __builtin_masked_gather(m, offsets, p, Vector<T>(0));
}
template <class Offset>
SAMITE_INLINE Mask gather(Mask m, const bool *p, Offset offsets) {
  return to_mask(gather(m, reinterpret_cast<const u8 *>(p), offsets) != U8(0));
}

// Loads from p[offset of the lane], where each offset is two more than that of the previous lane. If all lanes are
// active, uses two vectors, which begin and end with the elements of the first and the last lane.
template <class, int... Lane>
struct EverySecond {
  template <class V>
  static SAMITE_INLINE_MEMBER V of(V low, V high) {
    return __builtin_shufflevector(low, high, (Lane < lane_count / 2 ? 2 * Lane : 2 * Lane + 1)...);
  }
};
template <class T, class Offset>
SAMITE_INLINE Vector<T> load_every_second(Mask m, const T *p, Offset offsets) {
  const auto active = bits(m);
  if (__builtin_constant_p(active) && active == bits(all_lanes())) {
    const T *const first = p + offsets[0];
    return __make_integer_seq<EverySecond, int, lane_count>::of(load(all_lanes(), first),
                                                                load(all_lanes(), first + (lane_count - 1)));
  }
  return gather(m, p, offsets);
}

// Loads from p[offset of the lane], where the offset grows by one every second lane, as for (i + lane) >> 1. If all
// lanes are active, uses two halves of vectors: the elements of the even lanes, and those of the odd lanes.
template <class, int... Lane>
struct Alternating {
  template <class V>
  static SAMITE_INLINE_MEMBER auto of(V even, V odd) {
    return __builtin_shufflevector(even, odd, (Lane / 2 + Lane % 2 * (lane_count / 2))...);
  }
};
template <class T, class Offset>
SAMITE_INLINE Vector<T> load_each_twice(Mask m, const T *p, Offset offsets) {
  const auto active = bits(m);
  if (__builtin_constant_p(active) && active == bits(all_lanes())) {
    T __attribute__((ext_vector_type(lane_count / 2))) even, odd;
    __builtin_memcpy(&even, p + offsets[0], sizeof(even));
    __builtin_memcpy(&odd, p + offsets[1], sizeof(odd));
    return __make_integer_seq<Alternating, int, lane_count>::of(even, odd);
  }
  return gather(m, p, offsets);
}

// Loads from p[offset of the lane], where offsets are `first` + lane, except that lanes at the beginning share one
// larger offset, and lanes at the end one smaller offset: those of a clamped index.
template <class T, class Offset, class First>
SAMITE_INLINE Vector<T> load_clamped(Mask m, const T *p, Offset offsets, First first) {
  const Offset own = first + __builtin_convertvector(lane_i32, Offset);
  const Mask below = m & to_mask(offsets > own), above = m & to_mask(offsets < own);
  Vector<T> value = load(m & ~(below | above), p + first);
  if (any(below)) value = below ? Vector<T>(p[offsets[0]]) : value;
  if (any(above)) value = above ? Vector<T>(p[offsets[lane_count - 1]]) : value;
  return value;
}

// Clang 22 scales the offsets of this builtin by their own size instead of the element's, so it is used only if the two
// are equal.
template <class T, class Offset>
SAMITE_INLINE void scatter(Mask m, T *p, Offset offsets, Vector<T> value) {
  if constexpr (sizeof(offsets) == sizeof(value))
    __builtin_masked_scatter(m, offsets, value, p);
  else if constexpr (sizeof(T) == 8)
    __builtin_masked_scatter(m, __builtin_convertvector(offsets, I64), value, p);
  else
    SAMITE_FOR_EACH_ACTIVE(k, m) p[offsets[k]] = value[k];
}
template <class Offset>
SAMITE_INLINE void scatter(Mask m, bool *p, Offset offsets, Mask value) {
  scatter(m, reinterpret_cast<u8 *>(p), offsets, from_mask<U8>(value));
}

// All lanes store to one element: the last active one wins, as if they had run one after another.
template <class T>
SAMITE_INLINE void store_last(Mask m, T *p, Vector<T> value) {
  *p = value[last_active(m)];
}
SAMITE_INLINE void store_last(Mask m, bool *p, Mask value) { *p = (bits(value) >> last_active(m)) & 1; }

// Reads and stores zero, if no two instances touch one element.
template <class T>
SAMITE_INLINE Vector<T> take(Mask m, T *p) {
  const Vector<T> old = load(m, p);
  store(m, p, Vector<T>(0));
  return old;
}
template <class T, class Offset>
SAMITE_INLINE Vector<T> take(Mask m, T *p, Offset offsets) {
  const Vector<T> old = gather(m, p, offsets);
  scatter(m, p, offsets, Vector<T>(0));
  return old;
}

}  // namespace samite::SAMITE_LANES_NAMESPACE
