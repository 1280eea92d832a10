// The floating types of 8 and 16 bits. They are types of memory: values in registers are f32, which holds each of them
// exactly, and an operation rounds its f32 result once more. (For + - * / and sqrt that is the correctly rounded
// result, since an f32 has more than twice the digits.)
//
// Templates over V and U work on scalars and on vectors: V is f32 or a vector of it, U the u32 of the same width.
#pragma once

#include "samite/device/cpu/float8.h"

namespace samite {

// Takes the bits of f32s that are not negative, and rounds to nearest, ties to even.
struct BitsF16 {
  using Word = u16;
  template <class V, class U>
  static SAMITE_INLINE_MEMBER U narrow(U magnitude) {
    constexpr u32 infinity = 255u << 23, too_large = (127u + 16u) << 23, lowest_normal = 113u << 23;
    constexpr u32 magic = (113u + 23u - 10u) << 23;  // its last bit has the value of a subnormal's
    const U subnormal =
        __builtin_bit_cast(U, __builtin_bit_cast(V, magnitude) + __builtin_bit_cast(V, U(magic))) - U(magic);
    const U normal = (magnitude + U((u32(15 - 127) << 23) + 0xfff) + (magnitude >> U(13) & U(1))) >> U(13);
    const U nan = U(0x7e00) | (magnitude >> U(13) & U(0x3ff));
    const U special = magnitude > U(infinity) ? nan : U(0x7c00);
    const U finite = magnitude < U(lowest_normal) ? subnormal : normal;
    return magnitude >= U(too_large) ? special : finite;
  }
  template <class V, class U>
  static SAMITE_INLINE_MEMBER U widen(U magnitude) {
    constexpr u32 exponent = 0x7c00u << 13, lowest_normal = 113u << 23;
    const U shifted = magnitude << U(13);
    const U normal = shifted + U((127u - 15u) << 23);
    const U subnormal =
        __builtin_bit_cast(U, __builtin_bit_cast(V, normal + U(1u << 23)) - __builtin_bit_cast(V, U(lowest_normal)));
    const U finite = (shifted & U(exponent)) == U(0) ? subnormal : normal;
    return (shifted & U(exponent)) == U(exponent) ? normal + U((128u - 16u) << 23) : finite;
  }
};
struct BitsBF16 {
  using Word = u16;
  template <class V, class U>
  static SAMITE_INLINE_MEMBER U narrow(U magnitude) {
    const U rounded = (magnitude + U(0x7fff) + (magnitude >> U(16) & U(1))) >> U(16);
    return magnitude > U(255u << 23) ? (magnitude >> U(16) | U(0x40)) : rounded;
  }
  template <class V, class U>
  static SAMITE_INLINE_MEMBER U widen(U magnitude) {
    return magnitude << U(16);
  }
};

// The bits of the number nearest to `value`, and the value of such bits.
template <class Bits>
inline constexpr u32 sign_bit = 1u << (8 * sizeof(typename Bits::Word) - 1);
template <class Bits>
inline constexpr u32 sign_shift = 32 - 8 * sizeof(typename Bits::Word);
template <class Bits, class U, class V>
SAMITE_INLINE U narrow_bits(V value) {
  const U bits = __builtin_bit_cast(U, value);
  const U magnitude = bits & U(0x7fffffff);
  return Bits::template narrow<V, U>(magnitude) | (bits >> U(sign_shift<Bits>) & U(sign_bit<Bits>));
}
template <class Bits, class V, class U>
SAMITE_INLINE V widen_bits(U bits) {
  const U sign = (bits & U(sign_bit<Bits>)) << U(sign_shift<Bits>);
  return __builtin_bit_cast(V, Bits::template widen<V, U>(bits & U(sign_bit<Bits> - 1)) | sign);
}

template <class BitsOf>
struct SmallFloat {
  using Bits = BitsOf;
  using Word = typename Bits::Word;
  Word bits;

  SmallFloat() = default;
  SAMITE_INLINE_MEMBER explicit SmallFloat(f32 value) : bits(Word(narrow_bits<Bits, u32>(value))) {}
  SAMITE_INLINE_MEMBER operator f32() const { return widen_bits<Bits, f32>(u32(bits)); }
  SAMITE_INLINE_MEMBER SmallFloat &operator=(f32 value) { return *this = SmallFloat(value); }
  SAMITE_INLINE_MEMBER SmallFloat &operator+=(f32 value) { return *this = SmallFloat(f32(*this) + value); }
  SmallFloat(const SmallFloat &) = default;
  SmallFloat &operator=(const SmallFloat &) = default;
};
using f16 = SmallFloat<BitsF16>;
using bf16 = SmallFloat<BitsBF16>;
using f8e4m3 = SmallFloat<BitsE4M3>;
using f8e5m2 = SmallFloat<BitsE5M2>;
static_assert(sizeof(f16) == 2 && sizeof(f8e4m3) == 1 && __is_trivially_copyable(f16));

// The register value of memory's type T.
template <class T>
struct RegisterOf {
  using type = T;
};
template <class Bits>
struct RegisterOf<SmallFloat<Bits>> {
  using type = f32;
};
template <class T>
using Register = typename RegisterOf<T>::type;

// The f32 that rounds to a 16-bit number as `value` itself does: if it is not exact, its last bit is one.
SAMITE_INLINE f32 round_to_odd(f64 value) {
  const f32 nearest = f32(value);
  const f64 rest = value - f64(nearest);
  const u32 bits = __builtin_bit_cast(u32, nearest);
  if (!(rest < 0 || rest > 0) || (bits & 1)) return nearest;
  return __builtin_bit_cast(f32, (__builtin_bit_cast(u64, rest) >> 63) == (bits >> 31) ? bits + 1 : bits - 1);
}

// A 64-bit integer as an f64 that rounds to a 16-bit number as the integer itself does.
template <class T>
SAMITE_INLINE f64 wide_to_f64(T value) {
  const bool large = value >= T(1) << 53 || (T(-1) < T(0) && value < -(i64(1) << 53));
  return large ? f64(T(value >> 11 | T((value & 2047) != 0))) * 2048 : f64(value);
}

// In a register, rounded to H.
template <class H>
SAMITE_INLINE f32 round_to(f32 value) {
  return f32(H(value));
}
template <class H, class T>
SAMITE_INLINE f32 cast_to(T value) {
  if constexpr (sizeof(T) <= 2 || __is_same(T, f32))
    return round_to<H>(f32(value));
  else if constexpr (__is_same(T, i64) || __is_same(T, u64))
    return round_to<H>(round_to_odd(wide_to_f64(value)));
  else
    return round_to<H>(round_to_odd(f64(value)));
}

}  // namespace samite
