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
  using T = common_type_of<value_type_of<A>, value_type_of<B>>;
  static_assert(!std::is_void_v<T>, "the two arguments have types that do not meet; cast one of them");
  return Traced<T>::adopt(
      record(op, scalar_type_of<T>, {Operand<T>(a, where).value(), Operand<T>(b, where).value()}, where));
}

template <class A>
concept FloatingValue = FloatingScalar<value_type_of<A>> && ArithmeticScalar<value_type_of<A>>;
template <class A>
concept ArithmeticValue = TracedValue<A> && !std::same_as<value_type_of<A>, bool>;

}  // namespace lang

#define SAMITE_UNARY_FUNCTION(name, op)                                           \
  template <lang::FloatingValue A>                                                \
  auto name(const A &a, SourceLocation where = std::source_location::current()) { \
    return lang::unary(ir::Op::op, a, where);                                     \
  }
#define SAMITE_BINARY_FUNCTION(name, op)                                                      \
  template <class A, class B>                                                                 \
    requires lang::FloatingValue<A> || lang::FloatingValue<B>                                 \
  auto name(const A &a, const B &b, SourceLocation where = std::source_location::current()) { \
    return lang::binary(ir::Op::op, a, b, where);                                             \
  }
SAMITE_UNARY_FUNCTION(sqrt, Sqrt)
SAMITE_UNARY_FUNCTION(rsqrt, Rsqrt)  // 1 / sqrt(a)
SAMITE_UNARY_FUNCTION(cbrt, Cbrt)
SAMITE_UNARY_FUNCTION(exp, Exp)
SAMITE_UNARY_FUNCTION(exp2, Exp2)
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

template <lang::ArithmeticValue A>
auto abs(const A &a, SourceLocation where = std::source_location::current()) {
  return lang::unary(ir::Op::Abs, a, where);
}
template <class A, class B>
  requires lang::ArithmeticValue<A> || lang::ArithmeticValue<B>
auto min(const A &a, const B &b, SourceLocation where = std::source_location::current()) {
  return lang::binary(ir::Op::Min, a, b, where);
}
template <class A, class B>
  requires lang::ArithmeticValue<A> || lang::ArithmeticValue<B>
auto max(const A &a, const B &b, SourceLocation where = std::source_location::current()) {
  return lang::binary(ir::Op::Max, a, b, where);
}
template <class A, class L, class H>
  requires lang::ArithmeticValue<A>
auto clamp(const A &a, const L &low, const H &high, SourceLocation where = std::source_location::current()) {
  return min(max(a, low, where), high, where);
}

}  // namespace samite
