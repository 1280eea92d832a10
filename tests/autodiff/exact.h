// Numbers of many digits, as references: MPFR's functions behind C++'s names.
#pragma once

#include "samite/base/half.h"

#include <mpfr.h>

#include <cmath>
#include <limits>
#include <utility>

namespace samite::test {

class Real {
 public:
  Real(double value = 0) {
    mpfr_init2(number_, 400);
    mpfr_set_d(number_, value, MPFR_RNDN);
  }
  Real(const Real &other) : Real() { mpfr_set(number_, other.number_, MPFR_RNDN); }
  Real &operator=(const Real &other) {
    mpfr_set(number_, other.number_, MPFR_RNDN);
    return *this;
  }
  ~Real() { mpfr_clear(number_); }

  mpfr_ptr get() { return number_; }
  mpfr_srcptr get() const { return number_; }
  double to_double() const { return mpfr_get_d(number_, MPFR_RNDN); }
  bool is_nan() const { return mpfr_nan_p(number_) != 0; }
  bool is_infinite() const { return mpfr_inf_p(number_) != 0; }
  bool is_zero() const { return mpfr_zero_p(number_) != 0; }

#define SAMITE_OPERATOR(symbol, function)                      \
  friend Real operator symbol(const Real &a, const Real &b) {  \
    Real result;                                               \
    function(result.number_, a.number_, b.number_, MPFR_RNDN); \
    return result;                                             \
  }
  SAMITE_OPERATOR(+, mpfr_add)
  SAMITE_OPERATOR(-, mpfr_sub)
  SAMITE_OPERATOR(*, mpfr_mul)
  SAMITE_OPERATOR(/, mpfr_div)
#undef SAMITE_OPERATOR
  friend Real operator-(const Real &a) { return Real(0) - a; }
  friend bool operator<(const Real &a, const Real &b) { return mpfr_less_p(a.number_, b.number_) != 0; }
  friend bool operator==(const Real &a, const Real &b) { return mpfr_equal_p(a.number_, b.number_) != 0; }

 private:
  mpfr_t number_;
};

#define SAMITE_EXACT_1(name, function)          \
  inline Real name(const Real &a) {             \
    Real result;                                \
    function(result.get(), a.get(), MPFR_RNDN); \
    return result;                              \
  }
#define SAMITE_EXACT_2(name, function)                   \
  inline Real name(const Real &a, const Real &b) {       \
    Real result;                                         \
    function(result.get(), a.get(), b.get(), MPFR_RNDN); \
    return result;                                       \
  }
SAMITE_EXACT_1(sqrt, mpfr_sqrt)
SAMITE_EXACT_1(rsqrt, mpfr_rec_sqrt)
SAMITE_EXACT_1(cbrt, mpfr_cbrt)
SAMITE_EXACT_1(exp, mpfr_exp)
SAMITE_EXACT_1(exp2, mpfr_exp2)
SAMITE_EXACT_1(expm1, mpfr_expm1)
SAMITE_EXACT_1(log, mpfr_log)
SAMITE_EXACT_1(log2, mpfr_log2)
SAMITE_EXACT_1(log10, mpfr_log10)
SAMITE_EXACT_1(log1p, mpfr_log1p)
SAMITE_EXACT_1(sin, mpfr_sin)
SAMITE_EXACT_1(cos, mpfr_cos)
SAMITE_EXACT_1(tan, mpfr_tan)
SAMITE_EXACT_1(asin, mpfr_asin)
SAMITE_EXACT_1(acos, mpfr_acos)
SAMITE_EXACT_1(atan, mpfr_atan)
SAMITE_EXACT_1(sinh, mpfr_sinh)
SAMITE_EXACT_1(cosh, mpfr_cosh)
SAMITE_EXACT_1(tanh, mpfr_tanh)
SAMITE_EXACT_1(asinh, mpfr_asinh)
SAMITE_EXACT_1(acosh, mpfr_acosh)
SAMITE_EXACT_1(atanh, mpfr_atanh)
SAMITE_EXACT_1(erf, mpfr_erf)
SAMITE_EXACT_1(erfc, mpfr_erfc)
SAMITE_EXACT_1(digamma, mpfr_digamma)
SAMITE_EXACT_1(abs, mpfr_abs)
SAMITE_EXACT_2(atan2, mpfr_atan2)
SAMITE_EXACT_2(pow, mpfr_pow)
SAMITE_EXACT_2(hypot, mpfr_hypot)
SAMITE_EXACT_2(fmod, mpfr_fmod)
SAMITE_EXACT_2(copysign, mpfr_copysign)
SAMITE_EXACT_2(min, mpfr_min)
SAMITE_EXACT_2(max, mpfr_max)
#undef SAMITE_EXACT_1
#undef SAMITE_EXACT_2

inline Real lgamma(const Real &a) {
  Real result;
  int sign = 0;
  mpfr_lgamma(result.get(), &sign, a.get(), MPFR_RNDN);
  return result;
}
inline Real floor(const Real &a) {
  Real result;
  mpfr_floor(result.get(), a.get());
  return result;
}
inline Real ceil(const Real &a) { return -floor(-a); }
inline Real trunc(const Real &a) { return a < 0 ? ceil(a) : floor(a); }
// Halves away from zero.
inline Real round(const Real &a) { return copysign(floor(abs(a) + 0.5), a); }
inline Real pi() {
  Real result;
  mpfr_const_pi(result.get(), MPFR_RNDN);
  return result;
}
// 2^exponent.
inline Real power_of_two(long exponent) {
  Real result(1);
  mpfr_mul_2si(result.get(), result.get(), exponent, MPFR_RNDN);
  return result;
}

template <class T>
struct Format {  // of float and double
  static constexpr int digits = std::numeric_limits<T>::digits, lowest = std::numeric_limits<T>::min_exponent - 1;
  static constexpr int highest = std::numeric_limits<T>::max_exponent - 1;
};
template <>
struct Format<half> {
  static constexpr int digits = 11, lowest = -14, highest = 15;
};
template <>
struct Format<bfloat16> {
  static constexpr int digits = 8, lowest = -126, highest = 127;
};

// The distance of `got` from the exact number, in units of the last place of a T of that size; infinity if one is
// infinite or NaN and the other is not. Beyond the largest T, infinity and the largest T are right.
template <class T>
double ulps(T result, const Real &exact) {
  using F = Format<T>;
  const auto got = static_cast<double>(result);
  if (exact.is_nan() || std::isnan(got)) return exact.is_nan() && std::isnan(got) ? 0 : HUGE_VAL;
  const Real beyond = power_of_two(F::highest + 1) - power_of_two(F::highest - F::digits);
  if (!(abs(exact) < beyond)) {
    const Real largest = power_of_two(F::highest + 1) - power_of_two(F::highest + 1 - F::digits);
    return std::isfinite(got) && abs(Real(got)) < largest ? HUGE_VAL : std::signbit(got) == (exact < 0) ? 0 : HUGE_VAL;
  }
  long exponent = exact.is_zero() ? F::lowest : mpfr_get_exp(exact.get()) - 1;
  if (exponent < F::lowest) exponent = F::lowest;
  if (std::isinf(got)) return HUGE_VAL;
  return (abs(Real(got) - exact) / power_of_two(exponent + 1 - F::digits)).to_double();
}

}  // namespace samite::test
