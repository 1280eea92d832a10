// Atomic steps on one element, of every type. Relaxed: the end of a launch orders everything after it.
//
// An operation without an instruction of its own is a loop of compare and exchange; for elements of one byte, on the
// 32-bit word around them. Sums of 16-bit types use the 32-bit word, too. So the runtime allocates whole words.
#pragma once

#include "samite/device/cuda/half.h"
#include "samite/device/cuda/memory.h"

namespace samite {

template <class T>
inline constexpr bool is_whole = !is_float<T> && sizeof(T) >= 4;  // an integer that the machine can step

// The bits of an element as an integer type that compare and exchange supports, and back.
template <class T>
SAMITE_INLINE auto to_bits(T value) {
  if constexpr (is_float<T>)
    return bits_of(value);
  else if constexpr (!same_type<T, Register<T>>)
    return value.bits;
  else if constexpr (sizeof(T) == 8)
    return u64(value);
  else if constexpr (sizeof(T) == 4)
    return u32(value);
  else if constexpr (sizeof(T) == 2)
    return u16(value);
  else
    return u8(value);
}
template <class T, class Bits>
SAMITE_INLINE T from_bits(Bits bits) {
  if constexpr (same_type<T, f32>) {
    return f32_of_bits(bits);
  } else if constexpr (same_type<T, f64>) {
    return f64_of_bits(bits);
  } else if constexpr (!same_type<T, Register<T>>) {
    T value;
    value.bits = bits;
    return value;
  } else {
    return T(bits);
  }
}

template <class T>
SAMITE_INLINE T compare_exchange_element(T *p, T expected, T value) {
  if constexpr (sizeof(T) == 8) {
    return from_bits<T>(compare_exchange(reinterpret_cast<u64 *>(p), u64(to_bits(expected)), u64(to_bits(value))));
  } else if constexpr (sizeof(T) == 4) {
    return from_bits<T>(compare_exchange(reinterpret_cast<u32 *>(p), u32(to_bits(expected)), u32(to_bits(value))));
  } else if constexpr (sizeof(T) == 2) {
    return from_bits<T>(compare_exchange(reinterpret_cast<u16 *>(p), u16(to_bits(expected)), u16(to_bits(value))));
  } else {
    // Another thread may change other bytes of the word meanwhile: then try again.
    using Bits = decltype(to_bits(value));
    const u64 address = reinterpret_cast<u64>(p);
    u32 *const word = reinterpret_cast<u32 *>(address & ~u64(3));
    const u32 shift = u32(address & 3) * 8, mask = u32(Bits(~Bits(0))) << shift;
    u32 seen = load_current(word);
    for (;;) {
      const Bits old = Bits(seen >> shift);
      if (old != to_bits(expected)) return from_bits<T>(old);
      const u32 before = compare_exchange(word, seen, (seen & ~mask) | u32(to_bits(value)) << shift);
      if (before == seen) return expected;
      seen = before;
    }
  }
}

template <class T>
SAMITE_INLINE T load_element(const T *p) {
  if constexpr (!same_type<T, Register<T>>)
    return from_bits<T>(load_current(&p->bits));
  else
    return load_current(p);
}

// Nothing is written if nothing would change: a minimum that is already there costs each thread a load.
template <class T, class Combine>
SAMITE_INLINE T atomic_update(T *p, Combine combine) {
  T old = load_element(p);
  for (;;) {
    const T next = combine(old);
    if (to_bits(next) == to_bits(old)) return old;
    const T before = compare_exchange_element(p, old, next);
    if (to_bits(before) == to_bits(old)) return old;
    old = before;
  }
}

// Pairs of 16-bit elements that one instruction adds to, in device memory.
template <class T>
inline constexpr bool adds_pairs = (same_type<T, f16> && adds_f16_pairs) || (same_type<T, bf16> && adds_bf16_pairs);
template <class T>
SAMITE_INLINE u32 fetch_add_pair(u32 *p, u32 pair) {
  if constexpr (same_type<T, f16>)
    return fetch_add_f16_pair(p, pair);
  else
    return fetch_add_bf16_pair(p, pair);
}
// Adds to the pair of elements that contains this one. Adding -0 leaves the other element unchanged.
inline constexpr u32 pair_of_minus_zeros = 0x80008000;
template <class T>
SAMITE_INLINE T add_in_pair(T *p, f32 value) {
  const u64 address = reinterpret_cast<u64>(p);
  const u32 shift = u32(address & 2) * 8;
  const u32 pair = (pair_of_minus_zeros & ~(u32(0xffff) << shift)) | u32(to_bits(T(value))) << shift;
  return from_bits<T>(u16(fetch_add_pair<T>(reinterpret_cast<u32 *>(address & ~u64(3)), pair) >> shift));
}
// An element that may also be in a block's memory.
template <class T>
SAMITE_INLINE T add_anywhere(T *p, Register<T> value) {
  if constexpr (is_float<T> || is_whole<T>)
    return fetch_add(p, value);
  else
    return atomic_update(p, [value](T old) { return T(sum_of(Register<T>(old), value)); });
}

// For elements of arrays, which are in device memory.
struct AtomicAdd {
  template <class T>
  static SAMITE_INLINE_MEMBER T apply(T *p, T value) {
    return add(p, Register<T>(value));
  }
  template <class T>
  static SAMITE_INLINE_MEMBER T add(T *p, Register<T> value) {
    if constexpr (adds_pairs<T>)
      return add_in_pair(p, value);
    else
      return add_anywhere(p, value);
  }
};
struct AtomicMin {
  template <class T>
  static SAMITE_INLINE_MEMBER T apply(T *p, T value) {
    if constexpr (is_whole<T>)
      return fetch_min(p, value);
    else
      return atomic_update(p, [value](T old) { return T(min(Register<T>(old), Register<T>(value))); });
  }
};
struct AtomicMax {
  template <class T>
  static SAMITE_INLINE_MEMBER T apply(T *p, T value) {
    if constexpr (is_whole<T>)
      return fetch_max(p, value);
    else
      return atomic_update(p, [value](T old) { return T(max(Register<T>(old), Register<T>(value))); });
  }
};
struct AtomicAnd {
  template <class T>
  static SAMITE_INLINE_MEMBER T apply(T *p, T value) {
    if constexpr (is_whole<T>)
      return T(fetch_and(reinterpret_cast<Unsigned<T> *>(p), Unsigned<T>(value)));
    else
      return atomic_update(p, [value](T old) { return T(old & value); });
  }
};
struct AtomicOr {
  template <class T>
  static SAMITE_INLINE_MEMBER T apply(T *p, T value) {
    if constexpr (is_whole<T>)
      return T(fetch_or(reinterpret_cast<Unsigned<T> *>(p), Unsigned<T>(value)));
    else
      return atomic_update(p, [value](T old) { return T(old | value); });
  }
};
struct AtomicXor {
  template <class T>
  static SAMITE_INLINE_MEMBER T apply(T *p, T value) {
    if constexpr (is_whole<T>)
      return T(fetch_xor(reinterpret_cast<Unsigned<T> *>(p), Unsigned<T>(value)));
    else
      return atomic_update(p, [value](T old) { return T(old ^ value); });
  }
};
struct AtomicExchange {
  template <class T>
  static SAMITE_INLINE_MEMBER T apply(T *p, T value) {
    if constexpr (sizeof(T) == 8)
      return from_bits<T>(exchange(reinterpret_cast<u64 *>(p), u64(to_bits(value))));
    else if constexpr (sizeof(T) == 4)
      return from_bits<T>(exchange(reinterpret_cast<u32 *>(p), u32(to_bits(value))));
    else
      return atomic_update(p, [value](T) { return value; });
  }
};
// Compares bits, so that a NaN is equal to itself and -0 is not 0.
struct AtomicCompareExchange {
  template <class T>
  static SAMITE_INLINE_MEMBER T apply(T *p, T expected, T value) {
    return compare_exchange_element(p, expected, value);
  }
};

// Without a result: the thread need not wait for the old value.
template <class T>
SAMITE_INLINE void atomic_add(T *p, Register<T> value) {
  AtomicAdd::add(p, value);
}

// The same in the memory of a block.
template <class T>
SAMITE_INLINE void atomic_add_in_block(T *p, Register<T> value) {
  add_anywhere(p, value);
}

// Adds to several neighbours, in an atomic step for each.
template <int n, class T>
SAMITE_INLINE void atomic_add_pack(T *p, const Pack<T, n> &pack) {
  static_assert(sizeof(T) == 2 && n % 2 == 0, "pairs of 16-bit elements");
  for (int k = 0; k < n; k += 2)
    if constexpr (adds_pairs<T>)
      fetch_add_pair<T>(reinterpret_cast<u32 *>(p + k), u32(to_bits(pack.at[k])) | u32(to_bits(pack.at[k + 1])) << 16);
    else
      for (int i = k; i < k + 2; ++i) atomic_add(p + i, Register<T>(pack.at[i]));
}
template <int n>
SAMITE_INLINE void atomic_add_pack(f32 *p, const Pack<f32, n> &pack) {
  if constexpr (n == 8) {
    for (int k = 0; k < 2; ++k)
      add_to_neighbours(p + 4 * k, {pack.at[4 * k], pack.at[4 * k + 1], pack.at[4 * k + 2], pack.at[4 * k + 3]});
  } else {
    add_to_neighbours(p, pack.at);
  }
}

// Reads an element and leaves zero there.
template <class T>
SAMITE_INLINE T atomic_take(T *p) {
  return AtomicExchange::apply(p, T(0));
}
// For an element that no other thread touches.
template <class T>
SAMITE_INLINE T take(T *p) {
  const T old = *p;
  *p = T(0);
  return old;
}

}  // namespace samite
