// Loads of data that is constant while the kernel runs: the compiler may keep and move them, and they go through the
// read-only cache. Also loads and stores of several elements together.
#pragma once

#include "samite/device/cuda/math.h"

namespace samite {

template <class T>
SAMITE_INLINE Register<T> load_constant(const T *p) {
  if constexpr (same_type<T, bool>) {
    return load_constant_bits(reinterpret_cast<const u8 *>(p)) != 0;
  } else if constexpr (!same_type<T, Register<T>>) {
    T element;
    element.bits = load_constant_bits(&p->bits);
    return element;
  } else {
    return load_constant_bits(p);
  }
}

// Neighbouring elements, at a multiple of their size or of 16 bytes: one load or store instruction for each 16 bytes.
template <class T, int n>
struct alignas(n * sizeof(T) < 16 ? n * sizeof(T) : 16) Pack {
  T at[n];
};

// As elements of 16 bits: two are converted by one instruction.
template <class T, int n>
SAMITE_INLINE Pack<T, n> narrowed(const Pack<f32, n> &values) {
  Pack<u32, n / 2> pairs;
  for (int k = 0; k < n / 2; ++k) pairs.at[k] = T::Bits::narrow(values.at[2 * k], values.at[2 * k + 1]);
  return __builtin_bit_cast(Pack<T, n>, pairs);
}

template <int n, class T>
SAMITE_INLINE Pack<T, n> load_pack(const T *p) {
  return *reinterpret_cast<const Pack<T, n> *>(p);
}
template <int n, class T, bool in_row = false>
SAMITE_INLINE Pack<T, n> load_constant_pack(const T *p) {
  constexpr auto bytes = n * sizeof(T);
  if constexpr (bytes == 8) {
    return __builtin_bit_cast(Pack<T, n>, load_constant_bits(reinterpret_cast<const Bits64 *>(p)));
  } else if constexpr (bytes == 4) {
    return __builtin_bit_cast(Pack<T, n>, load_constant_bits(reinterpret_cast<const u32 *>(p)));
  } else if constexpr (bytes < 16) {
    Pack<T, n> pack;
    for (int k = 0; k < n; ++k) pack.at[k] = T(load_constant(p + k));
    return pack;
  } else {
    struct Pieces {
      Bits128 at[n * sizeof(T) / 16];
    } pieces;
    for (u32 k = 0; k < n * sizeof(T) / 16; ++k) {
      const Bits128 *const from = reinterpret_cast<const Bits128 *>(p) + k;
      pieces.at[k] = in_row ? load_row_bits(from) : load_constant_bits(from);
    }
    return __builtin_bit_cast(Pack<T, n>, pieces);
  }
}
// For a row whose next elements are loaded soon.
template <int n, class T>
SAMITE_INLINE Pack<T, n> load_row_pack(const T *p) {
  return load_constant_pack<n, T, true>(p);
}
template <class T, int n>
SAMITE_INLINE void store_pack(T *p, const Pack<T, n> &pack) {
  if constexpr (n * sizeof(T) == 8)
    store_whole(reinterpret_cast<Bits64 *>(p), __builtin_bit_cast(Bits64, pack));
  else
    *reinterpret_cast<Pack<T, n> *>(p) = pack;
}
// Each unit of 16 bytes separately; less than a unit as above.
template <class T, int n, class Store>
SAMITE_INLINE void store_units(T *p, const Pack<T, n> &pack, const Store &store) {
  if constexpr (n * sizeof(T) < 16) {
    store_pack(p, pack);
  } else {
    struct Pieces {
      Bits128 at[n * sizeof(T) / 16];
    };
    const auto pieces = __builtin_bit_cast(Pieces, pack);
    for (u32 k = 0; k < n * sizeof(T) / 16; ++k) store(reinterpret_cast<Bits128 *>(p) + k, pieces.at[k]);
  }
}
// For elements that were computed one by one: otherwise the compiler may store some of them separately, if it does not
// see that all are contiguous.
template <class T, int n>
SAMITE_INLINE void store_pack_at_once(T *p, const Pack<T, n> &pack) {
  store_units(p, pack, [](Bits128 *at, const Bits128 &unit) { store_whole(at, unit); });
}
// For data that is not read again soon.
template <class T, int n>
SAMITE_INLINE void store_pack_streaming(T *p, const Pack<T, n> &pack) {
  store_units(p, pack, [](Bits128 *at, const Bits128 &unit) { store_streaming(at, unit); });
}
template <class T, int n>
SAMITE_INLINE Pack<T, n> sums_of(const Pack<T, n> &a, const Pack<T, n> &b) {
  Pack<Register<T>, n> sums;
  for (int k = 0; k < n; ++k) sums.at[k] = sum_of(Register<T>(a.at[k]), Register<T>(b.at[k]));
  if constexpr (sizeof(T) == 2 && n % 2 == 0 && !same_type<T, Register<T>>) {
    return narrowed<T>(sums);
  } else {
    Pack<T, n> narrow;
    for (int k = 0; k < n; ++k) narrow.at[k] = T(sums.at[k]);
    return narrow;
  }
}
template <class T, int n>
SAMITE_INLINE void add_pack(T *p, const Pack<T, n> &more) {
  store_pack(p, sums_of(load_pack<n>(static_cast<const T *>(p)), more));
}
// Reads the elements and stores zeros.
template <int n, class T>
SAMITE_INLINE Pack<T, n> take_pack(T *p) {
  const Pack<T, n> pack = load_pack<n>(p);
  store_pack(p, Pack<T, n>{});
  return pack;
}

}  // namespace samite
