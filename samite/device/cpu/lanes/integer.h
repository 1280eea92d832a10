// Division of integer vectors, defined for every operand as in samite/device/cpu/math.h, and counts of their bits.
//
// The processor has no such instruction and a lane loop of divisions is slow, so integers of up to 32 bits are divided
// in a floating type with bits to spare: the truncated quotient is exact.
#pragma once

#include "samite/device/cpu/lanes/mask.h"

namespace samite::SAMITE_LANES_NAMESPACE {

#define SAMITE_SIGNED_DIVISION(V, Wide)                   \
  SAMITE_INLINE V divide(V a, V b) {                      \
    const auto zero = b == V(0), minus_one = b == V(-1);  \
    const V safe = (zero | minus_one) ? V(1) : b;         \
    const V quotient = SAMITE_QUOTIENT(V, Wide, a, safe); \
    return zero ? V(0) : minus_one ? -a : quotient;       \
  }                                                       \
  SAMITE_INLINE V remainder(V a, V b) { return a - divide(a, b) * b; }
#define SAMITE_UNSIGNED_DIVISION(V, Wide)                 \
  SAMITE_INLINE V divide(V a, V b) {                      \
    const auto zero = b == V(0);                          \
    const V safe = zero ? V(1) : b;                       \
    const V quotient = SAMITE_QUOTIENT(V, Wide, a, safe); \
    return zero ? V(0) : quotient;                        \
  }                                                       \
  SAMITE_INLINE V remainder(V a, V b) { return a - divide(a, b) * b; }

#define SAMITE_QUOTIENT(V, Wide, a, b) \
  __builtin_convertvector(__builtin_convertvector(a, Wide) / __builtin_convertvector(b, Wide), V)
SAMITE_SIGNED_DIVISION(I8, Vector<f32>)
SAMITE_SIGNED_DIVISION(I16, Vector<f32>)
SAMITE_SIGNED_DIVISION(I32, Vector<f64>)
SAMITE_UNSIGNED_DIVISION(U8, Vector<f32>)
SAMITE_UNSIGNED_DIVISION(U16, Vector<f32>)
SAMITE_UNSIGNED_DIVISION(U32, Vector<f64>)
#undef SAMITE_QUOTIENT
#define SAMITE_QUOTIENT(V, Wide, a, b) ((a) / (b))
SAMITE_SIGNED_DIVISION(I64, I64)
SAMITE_UNSIGNED_DIVISION(U64, U64)
#undef SAMITE_QUOTIENT
#undef SAMITE_SIGNED_DIVISION
#undef SAMITE_UNSIGNED_DIVISION

// For 0, the number of bits.
#define SAMITE_COUNTED_BITS(V, bits)                                          \
  SAMITE_INLINE V clz(V x) { return __builtin_elementwise_clzg(x, V(bits)); } \
  SAMITE_INLINE V ctz(V x) { return __builtin_elementwise_ctzg(x, V(bits)); }
SAMITE_COUNTED_BITS(I8, 8)
SAMITE_COUNTED_BITS(I16, 16)
SAMITE_COUNTED_BITS(I32, 32)
SAMITE_COUNTED_BITS(I64, 64)
SAMITE_COUNTED_BITS(U8, 8)
SAMITE_COUNTED_BITS(U16, 16)
SAMITE_COUNTED_BITS(U32, 32)
SAMITE_COUNTED_BITS(U64, 64)
#undef SAMITE_COUNTED_BITS

}  // namespace samite::SAMITE_LANES_NAMESPACE
