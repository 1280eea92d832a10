// Mathematical functions of traced values, with the names and meanings of <cmath>.
//
// Arguments are Float, Double, Half or BFloat16 (also array elements, and literals next to a traced argument); two
// arguments are converted to their common type by the promotion table of lang/traced.h. min, max and abs also take
// integers. The accuracy is that of the target's vector library: at most 4 units in the last place on the CPU. If one
// argument is NaN, min and max return the other one, as fmin and fmax do.
#pragma once

#include "samite/lang/attributed.h"
#include "samite/lang/control.h"

#include <limits>
#include <utility>

namespace samite {
namespace lang {

template <class A>
auto unary(ir::Op op, const A &a, SourceLocation where) {
  using T = value_type_of<A>;
  return Traced<T>::adopt(record(op, scalar_type_of<T>, {Operand<T>(a, where).value()}, where));
}

template <class A, class B>
auto binary(ir::Op op, const A &a, const B &b, SourceLocation where) {
  using T = meeting_type<A, B>;
  static_assert(!std::is_void_v<T>, "the two arguments have types that do not meet; cast one of them");
  if constexpr (!std::is_void_v<T>)
    return Traced<T>::adopt(
        record(op, scalar_type_of<T>, {Operand<T>(a, where).value(), Operand<T>(b, where).value()}, where));
}

template <class A>
concept FloatingValue = FloatingScalar<value_type_of<A>> && ArithmeticScalar<value_type_of<A>>;
template <class A>
concept ArithmeticValue = TracedValue<A> && !std::same_as<value_type_of<A>, bool>;

// Literals with integers have the common type: pow(i, 0.5) of an Int i is a Double.
template <class A, class B>
concept FloatingValues =
    TwoNumbers<A, B> && (FloatingScalar<meeting_type<A, B>> || std::is_void_v<meeting_type<A, B>>) &&
    (FloatingValue<A> || FloatingValue<B> || ArithmeticScalar<meeting_type<A, B>>);
template <class A>
concept IntegerValue = TracedValue<A> && std::integral<value_type_of<A>> && !std::same_as<value_type_of<A>, bool>;

// The common type of three numbers, at least one of them traced.
template <class A, class B, class C>
struct MeetingOfThree : Meeting<std::remove_cvref_t<A>, std::remove_cvref_t<C>> {};
template <class A, class B, class C>
  requires TwoNumbers<A, B> && Scalar<meeting_type<A, B>>
struct MeetingOfThree<A, B, C> : Meeting<Traced<meeting_type<A, B>>, std::remove_cvref_t<C>> {};
template <class A, class B, class C>
concept ThreeFloatingNumbers =
    Number<A> && Number<B> && Number<C> && (TracedValue<A> || TracedValue<B> || TracedValue<C>) &&
    FloatingScalar<typename MeetingOfThree<A, B, C>::type> && ArithmeticScalar<typename MeetingOfThree<A, B, C>::type>;

// Passes three numbers in their common type to `function`; everything is recorded on the user's line.
template <class A, class B, class C, class F>
auto with_three(const A &a, const B &b, const C &c, SourceLocation where, const F &function) {
  using T = typename MeetingOfThree<A, B, C>::type;
  const Attributed<Traced<T>> at(where);
  auto value = [&](const auto &number) { return Traced<T>::copy(Operand<T>(number, where).value(), where); };
  return function(value(a), value(b), value(c));
}

template <class A>
concept NumberThatIsNotFloating = TracedValue<A> && !FloatingValue<A>;

}  // namespace lang

#define SAMITE_UNARY_FUNCTION(name, op)                                           \
  template <lang::FloatingValue A>                                                \
  auto name(const A &a, SourceLocation where = std::source_location::current()) { \
    return lang::unary(ir::Op::op, a, where);                                     \
  }
#define SAMITE_BINARY_FUNCTION(name, op)                                                      \
  template <class A, class B>                                                                 \
    requires lang::FloatingValues<A, B>                                                       \
  auto name(const A &a, const B &b, SourceLocation where = std::source_location::current()) { \
    return lang::binary(ir::Op::op, a, b, where);                                             \
  }
SAMITE_UNARY_FUNCTION(sqrt, Sqrt)
SAMITE_UNARY_FUNCTION(rsqrt, Rsqrt)  // 1 / sqrt(a)
SAMITE_UNARY_FUNCTION(cbrt, Cbrt)
SAMITE_UNARY_FUNCTION(exp, Exp)
SAMITE_UNARY_FUNCTION(exp2, Exp2)
SAMITE_UNARY_FUNCTION(fast_exp2, FastExp2)  // a GPU may give 0 where the result of Float is below 2^-126
SAMITE_UNARY_FUNCTION(expm1, Expm1)
SAMITE_UNARY_FUNCTION(log, Log)
SAMITE_UNARY_FUNCTION(log2, Log2)
SAMITE_UNARY_FUNCTION(log10, Log10)
SAMITE_UNARY_FUNCTION(log1p, Log1p)
SAMITE_UNARY_FUNCTION(sin, Sin)
SAMITE_UNARY_FUNCTION(cos, Cos)
SAMITE_UNARY_FUNCTION(tan, Tan)
SAMITE_UNARY_FUNCTION(asin, Asin)
SAMITE_UNARY_FUNCTION(acos, Acos)
SAMITE_UNARY_FUNCTION(atan, Atan)
SAMITE_UNARY_FUNCTION(sinh, Sinh)
SAMITE_UNARY_FUNCTION(cosh, Cosh)
SAMITE_UNARY_FUNCTION(tanh, Tanh)
SAMITE_UNARY_FUNCTION(asinh, Asinh)
SAMITE_UNARY_FUNCTION(acosh, Acosh)
SAMITE_UNARY_FUNCTION(atanh, Atanh)
SAMITE_UNARY_FUNCTION(erf, Erf)
SAMITE_UNARY_FUNCTION(erfc, Erfc)
SAMITE_UNARY_FUNCTION(lgamma, Lgamma)    // the logarithm of |gamma(a)|
SAMITE_UNARY_FUNCTION(digamma, Digamma)  // its derivative
SAMITE_UNARY_FUNCTION(floor, Floor)
SAMITE_UNARY_FUNCTION(ceil, Ceil)
SAMITE_UNARY_FUNCTION(round, Round)  // half away from zero
SAMITE_UNARY_FUNCTION(trunc, Trunc)
SAMITE_BINARY_FUNCTION(atan2, Atan2)
SAMITE_BINARY_FUNCTION(pow, Pow)
SAMITE_BINARY_FUNCTION(hypot, Hypot)
SAMITE_BINARY_FUNCTION(fmod, Fmod)
SAMITE_BINARY_FUNCTION(copysign, CopySign)
// a itself; derivatives treat it as a constant.
SAMITE_UNARY_FUNCTION(stop_gradient, StopGradient)
#undef SAMITE_UNARY_FUNCTION
#undef SAMITE_BINARY_FUNCTION

// Refused, with a message of one line: C++ would make doubles of integers.
#define SAMITE_REFUSED(name)                 \
  template <lang::NumberThatIsNotFloating A> \
  lang::cast_the_argument name(const A &) = delete;
SAMITE_REFUSED(sqrt)   // of Float or Double: write sqrt(cast<Float>(x))
SAMITE_REFUSED(rsqrt)  // of Float or Double: write rsqrt(cast<Float>(x))
SAMITE_REFUSED(cbrt)   // of Float or Double: write cbrt(cast<Float>(x))
SAMITE_REFUSED(exp)    // of Float or Double: write exp(cast<Float>(x))
SAMITE_REFUSED(exp2)   // of Float or Double: write exp2(cast<Float>(x))
SAMITE_REFUSED(fast_exp2)
SAMITE_REFUSED(expm1)  // of Float or Double: write expm1(cast<Float>(x))
SAMITE_REFUSED(log)    // of Float or Double: write log(cast<Float>(x))
SAMITE_REFUSED(log2)   // of Float or Double: write log2(cast<Float>(x))
SAMITE_REFUSED(log10)  // of Float or Double: write log10(cast<Float>(x))
SAMITE_REFUSED(log1p)  // of Float or Double: write log1p(cast<Float>(x))
SAMITE_REFUSED(sin)    // of Float or Double: write sin(cast<Float>(x))
SAMITE_REFUSED(cos)    // of Float or Double: write cos(cast<Float>(x))
SAMITE_REFUSED(tan)    // of Float or Double: write tan(cast<Float>(x))
SAMITE_REFUSED(asin)   // of Float or Double: write asin(cast<Float>(x))
SAMITE_REFUSED(acos)   // of Float or Double: write acos(cast<Float>(x))
SAMITE_REFUSED(atan)   // of Float or Double: write atan(cast<Float>(x))
SAMITE_REFUSED(sinh)   // of Float or Double: write sinh(cast<Float>(x))
SAMITE_REFUSED(cosh)   // of Float or Double: write cosh(cast<Float>(x))
SAMITE_REFUSED(tanh)   // of Float or Double: write tanh(cast<Float>(x))
SAMITE_REFUSED(asinh)  // of Float or Double: write asinh(cast<Float>(x))
SAMITE_REFUSED(acosh)  // of Float or Double: write acosh(cast<Float>(x))
SAMITE_REFUSED(atanh)  // of Float or Double: write atanh(cast<Float>(x))
SAMITE_REFUSED(erf)    // of Float or Double: write erf(cast<Float>(x))
SAMITE_REFUSED(erfc)   // of Float or Double: write erfc(cast<Float>(x))
SAMITE_REFUSED(lgamma)
SAMITE_REFUSED(digamma)
SAMITE_REFUSED(floor)  // of Float or Double: write floor(cast<Float>(x))
SAMITE_REFUSED(ceil)   // of Float or Double: write ceil(cast<Float>(x))
SAMITE_REFUSED(round)  // of Float or Double: write round(cast<Float>(x))
SAMITE_REFUSED(trunc)  // of Float or Double: write trunc(cast<Float>(x))
#undef SAMITE_REFUSED

template <lang::ArithmeticValue A>
auto abs(const A &a, SourceLocation where = std::source_location::current()) {
  return lang::unary(ir::Op::Abs, a, where);
}
template <class A, class B>
  requires lang::TwoNumbers<A, B> && (lang::ArithmeticValue<A> || lang::ArithmeticValue<B>)
auto min(const A &a, const B &b, SourceLocation where = std::source_location::current()) {
  return lang::binary(ir::Op::Min, a, b, where);
}
template <class A, class B>
  requires lang::TwoNumbers<A, B> && (lang::ArithmeticValue<A> || lang::ArithmeticValue<B>)
auto max(const A &a, const B &b, SourceLocation where = std::source_location::current()) {
  return lang::binary(ir::Op::Max, a, b, where);
}
template <class A, class L, class H>
  requires lang::ArithmeticValue<A>
auto clamp(const A &a, const L &low, const H &high, SourceLocation where = std::source_location::current()) {
  return min(max(a, low, where), high, where);
}

// a b + c, rounded once on every target.
template <class A, class B, class C>
  requires lang::ThreeFloatingNumbers<A, B, C>
auto fma(const A &a, const B &b, const C &c, SourceLocation where = std::source_location::current()) {
  return lang::with_three(a, b, c, where, [&]<Scalar T>(const Traced<T> &x, const Traced<T> &y, const Traced<T> &z) {
    return Traced<T>::adopt(
        lang::record(ir::Op::Fma, scalar_type_of<T>, {x.value(where), y.value(where), z.value(where)}, where));
  });
}
// a at t = 0, b at t = 1.
template <class A, class B, class C>
  requires lang::ThreeFloatingNumbers<A, B, C>
auto lerp(const A &a, const B &b, const C &t, SourceLocation where = std::source_location::current()) {
  return lang::with_three(a, b, t, where, []<Scalar T>(const Traced<T> &x, const Traced<T> &y, const Traced<T> &s) {
    return Traced<T>(x + (y - x) * s);
  });
}
// 0 up to `low`, 1 from `high` on, and 3 t² - 2 t³ between; its derivative has no jump.
template <class A, class B, class C>
  requires lang::ThreeFloatingNumbers<A, B, C>
auto smoothstep(const A &low, const B &high, const C &x, SourceLocation where = std::source_location::current()) {
  return lang::with_three(low, high, x, where,
                          []<Scalar T>(const Traced<T> &from, const Traced<T> &to, const Traced<T> &at) {
                            const Traced<T> t = min(max((at - from) / (to - from), 0), 1);
                            return Traced<T>(t * t * (3 - 2 * t));
                          });
}
// Both functions of one argument: auto [sine, cosine] = sincos(a).
template <lang::FloatingValue A>
auto sincos(const A &a, SourceLocation where = std::source_location::current()) {
  return std::pair{sin(a, where), cos(a, where)};
}

// 1, -1, or a itself if it is zero or NaN; derivatives treat it as a constant.
template <lang::ArithmeticValue A>
auto sign(const A &a, SourceLocation where = std::source_location::current()) {
  using T = lang::value_type_of<A>;
  const lang::Attributed<Traced<T>> at(where);
  const Traced<T> x = Traced<T>::copy(Operand<T>(a, where).value(), where);
  if constexpr (std::integral<T> && std::is_unsigned_v<T>)
    return select(x > 0, Traced<T>(1), x);
  else if constexpr (std::integral<T>)
    return select(x > 0, Traced<T>(1), select(x < 0, Traced<T>(-1), x));
  else
    return stop_gradient(select(x > 0, Traced<T>(1), select(x < 0, Traced<T>(-1), x)));
}

namespace lang {
template <class A>
Bool beside_infinity(ir::Op comparison, const A &a, SourceLocation where) {
  const ScalarType type = scalar_type_of<value_type_of<A>>;
  const ir::Value infinity = ir::Value::constant(type, std::numeric_limits<double>::infinity());
  return Bool::adopt(record(comparison, ScalarType::Bool, {abs(a, where).value(where), infinity}, where));
}
}  // namespace lang
template <lang::FloatingValue A>
Bool isnan(const A &a, SourceLocation where = std::source_location::current()) {
  const ir::Value x = Operand<lang::value_type_of<A>>(a, where).value();
  return Bool::adopt(lang::record(ir::Op::NotEqual, ScalarType::Bool, {x, x}, where));
}
template <lang::FloatingValue A>
Bool isinf(const A &a, SourceLocation where = std::source_location::current()) {
  return lang::beside_infinity(ir::Op::Equal, a, where);
}
template <lang::FloatingValue A>
Bool isfinite(const A &a, SourceLocation where = std::source_location::current()) {
  return lang::beside_infinity(ir::Op::Less, a, where);
}

// The number of set bits, of zeros above the highest set bit, and of zeros below the lowest; the last two of 0 are the
// number of bits.
#define SAMITE_BITS_FUNCTION(name, op)                                                                          \
  template <lang::IntegerValue A>                                                                               \
  Int name(const A &a, SourceLocation where = std::source_location::current()) {                                \
    using T = lang::value_type_of<A>;                                                                           \
    const ir::Value count = lang::record(ir::Op::op, scalar_type_of<T>, {Operand<T>(a, where).value()}, where); \
    return Int::adopt(lang::record_cast(ScalarType::Int32, count, where));                                      \
  }
SAMITE_BITS_FUNCTION(popcount, PopCount)
SAMITE_BITS_FUNCTION(clz, LeadingZeros)
SAMITE_BITS_FUNCTION(ctz, TrailingZeros)
#undef SAMITE_BITS_FUNCTION

// The same bits in another type of the same size: bit_cast<UInt>(x) of a Float. Derivatives treat it as a constant.
template <class To, lang::ArithmeticValue From>
  requires requires { typename To::value_type; }
To bit_cast(const From &a, SourceLocation where = std::source_location::current()) {
  using T = lang::value_type_of<From>;
  using U = typename To::value_type;
  static_assert(sizeof(T) == sizeof(U), "bit_cast: the two types have as many bytes");
  static_assert(
      !(FloatingScalar<T> && sizeof(T) <= 2) && !(FloatingScalar<U> && sizeof(U) <= 2) && !std::same_as<U, bool>,
      "bit_cast: cast a Half or BFloat16 to Float first; Bool has no bits of its own");
  return To::adopt(lang::record(ir::Op::BitCast, scalar_type_of<U>, {Operand<T>(a, where).value()}, where));
}

}  // namespace samite
