// Mathematical functions of traced values: names and meaning of <cmath>.
//
// Arguments are Float, Double, Half or BFloat16 (also array elements, and literals beside a traced argument); two
// arguments meet in one type by the promotion table of lang/traced.h. min, max and abs take integers, too. Accuracy is
// the target's vector library's: at most 4 units in the last place on the CPU. min and max return the other argument
// where one is NaN, as fmin and fmax do.
#pragma once

#include "samite/lang/control.h"

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

// Literals beside integers count as they meet: pow(i, 0.5) of an Int i is a Double.
template <class A, class B>
concept FloatingValues =
    TwoNumbers<A, B> && (FloatingScalar<meeting_type<A, B>> || std::is_void_v<meeting_type<A, B>>) &&
    (FloatingValue<A> || FloatingValue<B> || ArithmeticScalar<meeting_type<A, B>>);
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
SAMITE_UNARY_FUNCTION(floor, Floor)
SAMITE_UNARY_FUNCTION(ceil, Ceil)
SAMITE_UNARY_FUNCTION(round, Round)  // half away from zero
SAMITE_UNARY_FUNCTION(trunc, Trunc)
SAMITE_BINARY_FUNCTION(atan2, Atan2)
SAMITE_BINARY_FUNCTION(pow, Pow)
SAMITE_BINARY_FUNCTION(hypot, Hypot)
SAMITE_BINARY_FUNCTION(fmod, Fmod)
SAMITE_BINARY_FUNCTION(copysign, CopySign)
// a itself, taken as a constant by every derivative.
SAMITE_UNARY_FUNCTION(stop_gradient, StopGradient)
#undef SAMITE_UNARY_FUNCTION
#undef SAMITE_BINARY_FUNCTION

// Refused in a line: C++ would make doubles of integers.
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

}  // namespace samite
