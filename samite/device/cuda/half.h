// The floating types of 8 and 16 bits. They are types of memory: values in registers are f32, which holds each of them
// exactly, and an operation rounds its f32 result once more. (For + - * / and sqrt that is the correctly rounded
// result, since an f32 has more than twice the digits.)
#pragma once

#include "samite/device/cpu/float8.h"
#include "samite/device/cuda/intrinsics.h"

namespace samite {

struct BitsF16 {
  using Word = u16;
  static SAMITE_INLINE_MEMBER u16 narrow(f32 value) { return f16_bits(value); }
  static SAMITE_INLINE_MEMBER u32 narrow(f32 low, f32 high) { return f16_bits(low, high); }
  static SAMITE_INLINE_MEMBER f32 widen(u16 bits) { return f16_value(bits); }
};
struct BitsBF16 {
  using Word = u16;
  static SAMITE_INLINE_MEMBER u16 narrow(f32 value) { return bf16_bits(value); }
  static SAMITE_INLINE_MEMBER u32 narrow(f32 low, f32 high) { return bf16_bits(low, high); }
  static SAMITE_INLINE_MEMBER f32 widen(u16 bits) { return f32_of_bits(u32(bits) << 16); }
};

#if __CUDA_ARCH__ >= 890
SAMITE_INLINE u8 float8_bits(BitsE4M3, f32 value) { return e4m3_bits(value); }
SAMITE_INLINE u8 float8_bits(BitsE5M2, f32 value) { return e5m2_bits(value); }
#endif
// By an instruction, if there is one.
template <class Bits>
struct Float8Bits {
  using Word = u8;
  static SAMITE_INLINE_MEMBER u8 narrow(f32 value) {
#if __CUDA_ARCH__ >= 890
    return float8_bits(Bits(), value);
#else
    const u32 bits = bits_of(value);
    return u8(Bits::template narrow<f32, u32>(bits & 0x7fffffff) | (bits >> 24 & 0x80));
#endif
  }
  static SAMITE_INLINE_MEMBER f32 widen(u8 bits) {
    return f32_of_bits(Bits::template widen<f32, u32>(bits & 0x7fu) | u32(bits >> 7) << 31);
  }
};

template <class BitsOf>
struct SmallFloat {
  using Bits = BitsOf;
  typename BitsOf::Word bits;

  SmallFloat() = default;
  SAMITE_INLINE_MEMBER explicit SmallFloat(f32 value) : bits(BitsOf::narrow(value)) {}
  SAMITE_INLINE_MEMBER operator f32() const { return BitsOf::widen(bits); }
  SAMITE_INLINE_MEMBER SmallFloat &operator=(f32 value) {
    bits = BitsOf::narrow(value);
    return *this;
  }
  SAMITE_INLINE_MEMBER SmallFloat &operator+=(f32 value) { return *this = BitsOf::widen(bits) + value; }
  SmallFloat(const SmallFloat &) = default;
  SmallFloat &operator=(const SmallFloat &) = default;
};
using f16 = SmallFloat<BitsF16>;
using bf16 = SmallFloat<BitsBF16>;
using f8e4m3 = SmallFloat<Float8Bits<BitsE4M3>>;
using f8e5m2 = SmallFloat<Float8Bits<BitsE5M2>>;
static_assert(sizeof(f16) == 2 && sizeof(f8e4m3) == 1, "elements of memory");

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
  const u32 bits = bits_of(nearest);
  if (!(rest < 0 || rest > 0) || (bits & 1)) return nearest;
  return f32_of_bits((bits_of(rest) >> 63) == (bits >> 31) ? bits + 1 : bits - 1);
}

// A 64-bit integer as an f64 that rounds to a 16-bit number as the integer itself does.
template <class T>
SAMITE_INLINE f64 wide_to_f64(T value) {
  const bool large = value >= T(1) << 53 || (T(-1) < T(0) && value < T(-(i64(1) << 53)));
  return large ? f64(T(value >> 11 | T((value & 2047) != 0))) * 2048 : f64(value);
}

// In a register, rounded to H.
template <class H>
SAMITE_INLINE f32 round_to(f32 value) {
  return f32(H(value));
}
template <class H, class T>
SAMITE_INLINE f32 cast_to(T value) {
  if constexpr (sizeof(T) <= 2 || same_type<T, f32>)
    return round_to<H>(f32(value));
  else if constexpr (same_type<T, i64> || same_type<T, u64>)
    return round_to<H>(round_to_odd(wide_to_f64(value)));
  else
    return round_to<H>(round_to_odd(f64(value)));
}

}  // namespace samite
