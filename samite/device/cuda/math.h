// Operations that C++ does not spell with an operator. The precise functions of CUDA's own library.
#pragma once

#include "samite/device/cuda/half.h"

namespace samite {

// Integers wrap around, as on the CPU; overflow of the signed types is undefined in C++.
template <class T>
struct UnsignedOf {
  using type = u32;
};
template <>
struct UnsignedOf<i64> {
  using type = u64;
};
template <>
struct UnsignedOf<u64> {
  using type = u64;
};
template <class T>
using Unsigned = typename UnsignedOf<T>::type;

template <class T>
SAMITE_INLINE T wrapping_add(T a, T b) {
  return T(Unsigned<T>(a) + Unsigned<T>(b));
}
template <class T>
SAMITE_INLINE T wrapping_sub(T a, T b) {
  return T(Unsigned<T>(a) - Unsigned<T>(b));
}
template <class T>
SAMITE_INLINE T wrapping_mul(T a, T b) {
  return T(Unsigned<T>(a) * Unsigned<T>(b));
}
// The assembler widens a 16-bit negation before it negates, so that -32768 would become 32768.
template <class T>
SAMITE_INLINE T wrapping_neg(T a) {
  if constexpr (same_type<T, i16>)
    return T(negated(i32(a)));
  else
    return T(Unsigned<T>(0) - Unsigned<T>(a));
}

template <class T>
inline constexpr bool is_float = same_type<T, f32> || same_type<T, f64>;
template <class T>
SAMITE_INLINE T sum_of(T a, T b) {
  if constexpr (is_float<T>)
    return a + b;
  else
    return wrapping_add(a, b);
}

SAMITE_INLINE f32 nan_f32() { return f32_of_bits(0x7fc00000u); }
SAMITE_INLINE f64 nan_f64() { return f64_of_bits(0x7ff8000000000000ull); }
SAMITE_INLINE f32 infinity_f32() { return f32_of_bits(0x7f800000u); }
SAMITE_INLINE f64 infinity_f64() { return f64_of_bits(0x7ff0000000000000ull); }

#define SAMITE_FUNCTION_1(name, single)                 \
  SAMITE_INLINE f32 name(f32 x) { return ::single(x); } \
  SAMITE_INLINE f64 name(f64 x) { return ::name(x); }
#define SAMITE_FUNCTION_2(name, single)                           \
  SAMITE_INLINE f32 name(f32 x, f32 y) { return ::single(x, y); } \
  SAMITE_INLINE f64 name(f64 x, f64 y) { return ::name(x, y); }
SAMITE_FUNCTION_1(sqrt, sqrtf)
SAMITE_FUNCTION_1(rsqrt, rsqrtf)
SAMITE_FUNCTION_1(cbrt, cbrtf)
SAMITE_FUNCTION_1(exp, expf)
SAMITE_FUNCTION_1(exp2, exp2f)
SAMITE_FUNCTION_1(expm1, expm1f)
// By one instruction, which gives zero instead of subnormal numbers.
SAMITE_INLINE f32 fast_exp2(f32 x) { return exp2_or_zero(x); }
SAMITE_INLINE f64 fast_exp2(f64 x) { return ::exp2(x); }
SAMITE_FUNCTION_1(log, logf)
SAMITE_FUNCTION_1(log2, log2f)
SAMITE_FUNCTION_1(log10, log10f)
SAMITE_FUNCTION_1(log1p, log1pf)
SAMITE_FUNCTION_1(sin, sinf)
SAMITE_FUNCTION_1(cos, cosf)
SAMITE_FUNCTION_1(tan, tanf)
SAMITE_FUNCTION_1(asin, asinf)
SAMITE_FUNCTION_1(acos, acosf)
SAMITE_FUNCTION_1(atan, atanf)
SAMITE_FUNCTION_1(sinh, sinhf)
SAMITE_FUNCTION_1(cosh, coshf)
SAMITE_FUNCTION_1(tanh, tanhf)
SAMITE_FUNCTION_1(asinh, asinhf)
SAMITE_FUNCTION_1(acosh, acoshf)
SAMITE_FUNCTION_1(atanh, atanhf)
SAMITE_FUNCTION_1(erf, erff)
SAMITE_FUNCTION_1(erfc, erfcf)
SAMITE_FUNCTION_1(lgamma, lgammaf)
SAMITE_FUNCTION_1(floor, floorf)
SAMITE_FUNCTION_1(ceil, ceilf)
SAMITE_FUNCTION_1(round, roundf)  // halves go away from zero, as in C
SAMITE_FUNCTION_1(trunc, truncf)
SAMITE_FUNCTION_2(atan2, atan2f)
SAMITE_FUNCTION_2(pow, powf)
SAMITE_FUNCTION_2(fmod, fmodf)
SAMITE_FUNCTION_2(copysign, copysignf)

// Scaled by a power of two, so that no square overflows or loses digits. Infinite if either operand is, as in C.
template <class T>
SAMITE_INLINE T scaled_hypot(T x, T y, T large, T small, T power, T infinity) {
  x = x < 0 ? -x : x;
  y = y < 0 ? -y : y;
  if (x == infinity || y == infinity) return infinity;
  const T most = x < y ? y : x;
  const T scale = most > large ? 1 / power : most < small ? power : T(1);
  const T a = x * scale, b = y * scale;
  return sqrt(a * a + b * b) * (1 / scale);
}
SAMITE_INLINE f32 hypot(f32 x, f32 y) { return scaled_hypot(x, y, 0x1p60f, 0x1p-40f, 0x1p80f, infinity_f32()); }
SAMITE_INLINE f64 hypot(f64 x, f64 y) { return scaled_hypot(x, y, 0x1p500, 0x1p-400, 0x1p600, infinity_f64()); }

SAMITE_INLINE f32 fma(f32 x, f32 y, f32 z) { return ::fmaf(x, y, z); }
SAMITE_INLINE f64 fma(f64 x, f64 y, f64 z) { return ::fma(x, y, z); }

// The root of the sum of squares, scaled by a power of two if a square would overflow or lose digits.
template <class T, class... Ts>
SAMITE_INLINE T norm(T x, Ts... more) {
  constexpr bool wide = same_type<T, f64>;
  // Most vectors need no scale: no square has overflowed, and underflowing squares lose less than the rounding of the
  // sum. A separate branch takes fewer registers.
  T plain = x * x;
  ((plain += more * more), ...);
  if (plain > T(wide ? 0x1p-960 : 0x1p-96) && plain < T(wide ? 0x1p1000 : 0x1p120)) return sqrt(plain);
  constexpr T large = wide ? 0x1p500 : 0x1p60, small = wide ? 0x1p-480 : 0x1p-50;
  constexpr T shrink = wide ? 0x1p-600 : 0x1p-80, shrunk = wide ? 0x1p600 : 0x1p80;
  constexpr T grow = wide ? 0x1p600 : 0x1p90, grown = wide ? 0x1p-600 : 0x1p-90;
  T most = x < 0 ? -x : x;
  ((most = (more < 0 ? -more : more) > most ? (more < 0 ? -more : more) : most), ...);
  const T scale = most > large ? shrink : most < small ? grow : T(1);
  const T back = most > large ? shrunk : most < small ? grown : T(1);
  T sum = (x * scale) * (x * scale);
  ((sum += (more * scale) * (more * scale)), ...);
  return sqrt(sum) * back;
}

// If one operand is a NaN, the result is the other one: as fmin and fmax in C.
SAMITE_INLINE f32 min(f32 x, f32 y) { return ::fminf(x, y); }
SAMITE_INLINE f64 min(f64 x, f64 y) { return ::fmin(x, y); }
SAMITE_INLINE f32 max(f32 x, f32 y) { return ::fmaxf(x, y); }
SAMITE_INLINE f64 max(f64 x, f64 y) { return ::fmax(x, y); }
template <class T>
SAMITE_INLINE T min(T x, T y) {
  return y < x ? y : x;
}
template <class T>
SAMITE_INLINE T max(T x, T y) {
  return x < y ? y : x;
}

SAMITE_INLINE f32 abs(f32 x) { return ::fabsf(x); }
SAMITE_INLINE f64 abs(f64 x) { return ::fabs(x); }
template <class T>
SAMITE_INLINE T abs(T x) {
  return x < 0 ? wrapping_neg(x) : x;
}

// For 0, the number of bits.
template <class T>
SAMITE_INLINE T popcount(T x) {
  if constexpr (sizeof(T) == 8)
    return T(set_bits(u64(x)));
  else if constexpr (sizeof(T) == 4)
    return T(set_bits(u32(x)));
  else
    return T(set_bits(u32(x) & ((1u << 8 * sizeof(T)) - 1)));
}
template <class T>
SAMITE_INLINE T clz(T x) {
  if constexpr (sizeof(T) == 8)
    return T(leading_zeros(u64(x)));
  else if constexpr (sizeof(T) == 4)
    return T(leading_zeros(u32(x)));
  else
    return T(leading_zeros(u32(x) & ((1u << 8 * sizeof(T)) - 1)) - (32 - 8 * sizeof(T)));
}
template <class T>
SAMITE_INLINE T ctz(T x) {
  // The bits below the last one that is set.
  return popcount(T(~x & T(Unsigned<T>(x) - 1)));
}

template <class To, class From>
SAMITE_INLINE To bit_cast(From x) {
  if constexpr (same_type<To, f32>)
    return f32_of_bits(u32(x));
  else if constexpr (same_type<To, f64>)
    return f64_of_bits(u64(x));
  else if constexpr (is_float<From>)
    return To(bits_of(x));
  else
    return To(x);
}

// Integer division is defined for every operand, as on the CPU: x / 0 is 0 and x % 0 is x; the most negative number
// divided by -1 is itself.
template <class T>
SAMITE_INLINE T divide(T a, T b) {
  if (b == 0) return 0;
  if (T(-1) < T(0) && b == T(-1)) return wrapping_neg(a);
  return T(a / b);
}

template <class T>
SAMITE_INLINE T remainder(T a, T b) {
  if (b == 0) return a;
  if (T(-1) < T(0) && b == T(-1)) return 0;
  return T(a % b);
}

}  // namespace samite
