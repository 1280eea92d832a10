// Operations that C++ does not spell with an operator. Templates here work on scalars and on vectors.
#pragma once

#include "samite/device/cpu/scalar.h"

namespace samite {

SAMITE_INLINE f32 nan_f32() { return __builtin_nanf(""); }
SAMITE_INLINE f64 nan_f64() { return __builtin_nan(""); }
SAMITE_INLINE f32 infinity_f32() { return __builtin_inff(); }
SAMITE_INLINE f64 infinity_f64() { return __builtin_inf(); }

#define SAMITE_ELEMENTWISE_1(name)          \
  template <class V>                        \
  SAMITE_INLINE V name(V x) {               \
    return __builtin_elementwise_##name(x); \
  }
SAMITE_ELEMENTWISE_1(sqrt)
SAMITE_ELEMENTWISE_1(abs)
SAMITE_ELEMENTWISE_1(floor)
SAMITE_ELEMENTWISE_1(ceil)
SAMITE_ELEMENTWISE_1(round)  // halves go away from zero, as in C
SAMITE_ELEMENTWISE_1(trunc)
#undef SAMITE_ELEMENTWISE_1

// If one operand is a NaN, the result is the other one: as fmin and fmax in C.
#define SAMITE_ELEMENTWISE_2(name)             \
  template <class V>                           \
  SAMITE_INLINE V name(V x, V y) {             \
    return __builtin_elementwise_##name(x, y); \
  }
SAMITE_ELEMENTWISE_2(min)
SAMITE_ELEMENTWISE_2(max)
SAMITE_ELEMENTWISE_2(copysign)
#undef SAMITE_ELEMENTWISE_2

template <class V>
SAMITE_INLINE V rsqrt(V x) {
  return V(1) / __builtin_elementwise_sqrt(x);
}
#ifdef __AVX512F__
// The processor's estimate is good to 14 bits; one step of Newton's method leaves an error of at most 2 units in the
// last place, at a quarter of the time that a root and a division take. At 0 and infinity the estimate is exact, and
// the step's 0 * infinity would make a NaN of it.
typedef f32 F32x16 __attribute__((ext_vector_type(16)));
template <>
SAMITE_INLINE_MEMBER F32x16 rsqrt(F32x16 x) {
  typedef float Plain __attribute__((vector_size(64)));
  const F32x16 estimate = __builtin_ia32_rsqrt14ps512_mask(Plain(x), Plain(x), 0xffff);
  const F32x16 error = __builtin_elementwise_fma(-(x * estimate), estimate, F32x16(1));
  const F32x16 refined = __builtin_elementwise_fma(error, estimate * F32x16(0.5f), estimate);
  return error == error ? refined : estimate;
}
#endif

template <class To, class From>
SAMITE_INLINE To bit_cast(From x) {
  return __builtin_bit_cast(To, x);
}

template <class V>
SAMITE_INLINE V fma(V x, V y, V z) {
  return __builtin_elementwise_fma(x, y, z);
}

// The root of the sum of squares, scaled by a power of two if a square would overflow or lose digits.
template <class V>
inline constexpr bool is_wide = sizeof(V(0)[0]) == 8;
template <>
inline constexpr bool is_wide<f32> = false;
template <>
inline constexpr bool is_wide<f64> = true;
template <class V, class... Vs>
SAMITE_INLINE V norm(V x, Vs... more) {
  const V large = V(is_wide<V> ? 0x1p500 : 0x1p60), small = V(is_wide<V> ? 0x1p-480 : 0x1p-50);
  const V shrink = V(is_wide<V> ? 0x1p-600 : 0x1p-80), shrunk = V(is_wide<V> ? 0x1p600 : 0x1p80);
  const V grow = V(is_wide<V> ? 0x1p600 : 0x1p90), grown = V(is_wide<V> ? 0x1p-600 : 0x1p-90);
  V most = __builtin_elementwise_abs(x);
  ((most = __builtin_elementwise_max(most, V(__builtin_elementwise_abs(more)))), ...);
  const V scale = most > large ? shrink : (most < small ? grow : V(1));
  const V back = most > large ? shrunk : (most < small ? grown : V(1));
  V sum = (x * scale) * (x * scale);
  ((sum += (more * scale) * (more * scale)), ...);
  return __builtin_elementwise_sqrt(sum) * back;
}

// exp of vectors of f32, on machines with fused multiply-add: the error is at most 1.3 units in the last place, in a
// third of the C library's time. It is 2^n times a polynomial of the remainder of x, at most log(2) / 2 (Moshier,
// Cephes Mathematical Library, expf). I is the i32 of V's width.
//
// Adding this, 1.5 * 2^23, puts an integer into the last bits of the sum.
inline constexpr f32 integer_in_sum = 12582912.0f;
// e^rest 2^n; `sum` is n + 1.5 * 2^23.
template <class I, class V>
SAMITE_INLINE V power_of_vector(V rest, V sum) {
  const V magic = V(integer_in_sum);
  [[maybe_unused]] const V n = sum - magic;
  V p = __builtin_elementwise_fma(V(1.9875691500e-4f), rest, V(1.3981999507e-3f));
  p = __builtin_elementwise_fma(p, rest, V(8.3334519073e-3f));
  p = __builtin_elementwise_fma(p, rest, V(4.1665795894e-2f));
  p = __builtin_elementwise_fma(p, rest, V(1.6666665459e-1f));
  p = __builtin_elementwise_fma(p, rest, V(5.0000001201e-1f));
  p = __builtin_elementwise_fma(p, rest * rest, rest + V(1));
#ifdef __AVX512F__
  if constexpr (sizeof(V) == 64) {
    typedef float Plain __attribute__((vector_size(64)));
    return __builtin_ia32_scalefps512_mask(Plain(p), Plain(n), Plain(p), 0xffff, 4);
  } else
#endif
  {
    // In two steps, because 2^n itself may be subnormal or infinite. Only the last one rounds.
    const I whole = __builtin_bit_cast(I, sum) - __builtin_bit_cast(I, magic), half = whole >> I(1);
    p *= __builtin_bit_cast(V, (half + I(127)) << I(23));
    return p * __builtin_bit_cast(V, (whole - half + I(127)) << I(23));
  }
}

// Beyond these bounds the result is zero or infinity. A NaN is neither less nor greater, and stays.
template <class I, class V>
SAMITE_INLINE V exp_of_vector(V x) {
  x = x < V(-110) ? V(-110) : x;
  x = x > V(100) ? V(100) : x;
  const V sum = __builtin_elementwise_fma(x, V(1.44269504f), V(integer_in_sum)), n = sum - V(integer_in_sum);
  const V rest = __builtin_elementwise_fma(n, V(2.12194440e-4f), __builtin_elementwise_fma(n, V(-0.693359375f), x));
  return power_of_vector<I>(rest, sum);
}
template <class I, class V>
SAMITE_INLINE V exp2_of_vector(V x) {
  x = x < V(-160) ? V(-160) : x;
  x = x > V(140) ? V(140) : x;
  const V sum = x + V(integer_in_sum), n = sum - V(integer_in_sum);
  return power_of_vector<I>((x - n) * V(0.693147181f), sum);
}

// The rows of the C library's functions: name, number of operands.
// clang-format off
#define SAMITE_LIBRARY_FUNCTIONS(X1, X2) X1(exp) X1(exp2) SAMITE_LIBRARY_FUNCTIONS_BUT_POWERS(X1, X2)
#define SAMITE_LIBRARY_FUNCTIONS_BUT_POWERS(X1, X2)                                            \
  X1(cbrt) X1(expm1) X1(log) X1(log2) X1(log10) X1(log1p) X1(sin) X1(cos)   \
  X1(tan) X1(asin) X1(acos) X1(atan) X1(sinh) X1(cosh) X1(tanh) X1(asinh) X1(acosh) X1(atanh) \
  X1(erf) X1(erfc) X2(atan2) X2(pow) X2(hypot)
// clang-format on

#define SAMITE_SCALAR_1(name)                                      \
  SAMITE_INLINE f32 name(f32 x) { return __builtin_##name##f(x); } \
  SAMITE_INLINE f64 name(f64 x) { return __builtin_##name(x); }
#define SAMITE_SCALAR_2(name)                                                \
  SAMITE_INLINE f32 name(f32 x, f32 y) { return __builtin_##name##f(x, y); } \
  SAMITE_INLINE f64 name(f64 x, f64 y) { return __builtin_##name(x, y); }
SAMITE_LIBRARY_FUNCTIONS(SAMITE_SCALAR_1, SAMITE_SCALAR_2)
SAMITE_SCALAR_2(fmod)
SAMITE_SCALAR_1(lgamma)
SAMITE_INLINE f32 fast_exp2(f32 x) { return exp2(x); }
SAMITE_INLINE f64 fast_exp2(f64 x) { return exp2(x); }

// For 0, the number of bits.
template <class T>
SAMITE_INLINE T popcount(T x) {
  return __builtin_elementwise_popcount(x);
}
template <class T>
SAMITE_INLINE T clz(T x) {
  return __builtin_elementwise_clzg(x, T(8 * sizeof(T)));
}
template <class T>
SAMITE_INLINE T ctz(T x) {
  return __builtin_elementwise_ctzg(x, T(8 * sizeof(T)));
}

// Integer division is defined for every operand, as on ARM: x / 0 is 0 and x % 0 is x; the most negative number divided
// by -1 is itself. A trap would kill the process.
template <class T>
SAMITE_INLINE T divide(T a, T b) {
  if (b == 0) return 0;
  if (T(-1) < T(0) && b == T(-1)) return T(u64(0) - u64(a));
  return T(a / b);
}

template <class T>
SAMITE_INLINE T remainder(T a, T b) {
  if (b == 0) return a;
  if (T(-1) < T(0) && b == T(-1)) return 0;
  return T(a % b);
}

}  // namespace samite
