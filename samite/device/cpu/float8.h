// The bits of 8-bit floating types, for scalars and vectors, on every target: V is f32 or a vector of it, U the u32 of
// the same width. Rounds to nearest, ties to even; numbers beyond the range become the largest finite one.
#pragma once

#include "samite/device/cpu/scalar.h"

namespace samite {

// `lowest` is the exponent of the least normal number, `largest` the bits of the largest finite one, and `most` its
// value as an f32.
template <int fraction, int lowest, u32 largest, u32 most>
struct Bits8 {
  using Word = u8;
  static constexpr u32 lowest_normal = u32(127 + lowest) << 23, rebias = u32(126 + lowest) << 23;
  static constexpr int shift = 23 - fraction;

  // Takes the bits of f32s that are not negative.
  template <class V, class U>
  static SAMITE_INLINE_MEMBER U narrow(U magnitude) {
    constexpr u32 magic = lowest_normal + (u32(shift) << 23);  // its last bit has the value of a subnormal's
    const U subnormal =
        __builtin_bit_cast(U, __builtin_bit_cast(V, magnitude) + __builtin_bit_cast(V, U(magic))) - U(magic);
    const U normal = (magnitude - U(rebias) + U((1u << (shift - 1)) - 1) + (magnitude >> U(shift) & U(1))) >> U(shift);
    const U finite = magnitude < U(lowest_normal) ? subnormal : normal;
    const U special = magnitude > U(255u << 23) ? U(0x7f) : U(largest);
    return magnitude > U(most) ? special : finite;
  }
  template <class V, class U>
  static SAMITE_INLINE_MEMBER U widen(U magnitude) {
    const U normal = (magnitude << U(shift)) + U(rebias);
    const U subnormal =
        __builtin_bit_cast(U, __builtin_bit_cast(V, normal + U(1u << 23)) - __builtin_bit_cast(V, U(lowest_normal)));
    const U finite = magnitude < U(1u << fraction) ? subnormal : normal;
    constexpr bool infinities = fraction == 2;
    const U special = infinities ? (magnitude > U(0x7c) ? U(0x7fc00000) : U(255u << 23)) : U(0x7fc00000);
    return magnitude > U(largest) ? special : finite;
  }
};
using BitsE4M3 = Bits8<3, -6, 0x7e, 0x43e00000>;   // 448
using BitsE5M2 = Bits8<2, -14, 0x7b, 0x47600000>;  // 57344

}  // namespace samite
