// Operations that C++ does not spell with an operator. What is a template here works on scalars and on vectors.
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

// Of a number and a NaN, the number: as fmin and fmax in C.
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

// The rows of the C library's functions: name, number of operands.
// clang-format off
#define SAMITE_LIBRARY_FUNCTIONS(X1, X2)                                                    \
  X1(cbrt) X1(exp) X1(exp2) X1(expm1) X1(log) X1(log2) X1(log10) X1(log1p) X1(sin) X1(cos)   \
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

// Integer division is defined for every operand, as on ARM: x / 0 is 0 and x % 0 is x; the most negative number
// divided by -1 is itself. A trap would take the process with it.
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
