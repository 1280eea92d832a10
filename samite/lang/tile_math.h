// Mathematical functions of tiles, element by element: names and meaning of lang/math.h.
#pragma once

#include "samite/lang/math.h"
#include "samite/lang/tile.h"

namespace samite {
namespace lang {

template <class A>
struct TileElement {
  using type = value_type_of<A>;
};
template <Scalar T>
struct TileElement<Tile<T>> {
  using type = T;
};
template <class A>
using tile_element_of = typename TileElement<std::remove_cvref_t<A>>::type;

template <class A>
concept TileValue = requires { []<Scalar T>(const Tile<T> &) {}(std::declval<const A &>()); };

template <class A, class B>
concept TileOperands = TileValue<A> || TileValue<B>;

template <class A, class B>
struct SelectedElement : Selected<A, B> {};
template <class A, class B>
  requires TileOperands<A, B>
struct SelectedElement<A, B> {
  using type = common_type_of<tile_element_of<A>, tile_element_of<B>>;
};

template <class A, class B>
auto on_tiles(ir::Op op, const A &a, const B &b, SourceLocation where) {
  using T = common_type_of<tile_element_of<A>, tile_element_of<B>>;
  static_assert(!std::is_void_v<T>, "the two arguments have types that do not meet; cast one of them");
  return Tile<T>::adopt(record_on_tiles(op, scalar_type_of<T>,
                                        {TileOperand<T>(a, where).value(), TileOperand<T>(b, where).value()}, where));
}

}  // namespace lang

#define SAMITE_TILE_FUNCTION(name, op)                                                                    \
  template <FloatingScalar T>                                                                             \
    requires ArithmeticScalar<T>                                                                          \
  Tile<T> name(const Tile<T> &a, SourceLocation where = std::source_location::current()) {                \
    return Tile<T>::adopt(lang::record_on_tiles(ir::Op::op, scalar_type_of<T>, {a.value(where)}, where)); \
  }
SAMITE_TILE_FUNCTION(sqrt, Sqrt)
SAMITE_TILE_FUNCTION(rsqrt, Rsqrt)
SAMITE_TILE_FUNCTION(cbrt, Cbrt)
SAMITE_TILE_FUNCTION(exp, Exp)
SAMITE_TILE_FUNCTION(exp2, Exp2)
SAMITE_TILE_FUNCTION(fast_exp2, FastExp2)
SAMITE_TILE_FUNCTION(expm1, Expm1)
SAMITE_TILE_FUNCTION(log, Log)
SAMITE_TILE_FUNCTION(log2, Log2)
SAMITE_TILE_FUNCTION(log10, Log10)
SAMITE_TILE_FUNCTION(log1p, Log1p)
SAMITE_TILE_FUNCTION(sin, Sin)
SAMITE_TILE_FUNCTION(cos, Cos)
SAMITE_TILE_FUNCTION(tan, Tan)
SAMITE_TILE_FUNCTION(asin, Asin)
SAMITE_TILE_FUNCTION(acos, Acos)
SAMITE_TILE_FUNCTION(atan, Atan)
SAMITE_TILE_FUNCTION(sinh, Sinh)
SAMITE_TILE_FUNCTION(cosh, Cosh)
SAMITE_TILE_FUNCTION(tanh, Tanh)
SAMITE_TILE_FUNCTION(asinh, Asinh)
SAMITE_TILE_FUNCTION(acosh, Acosh)
SAMITE_TILE_FUNCTION(atanh, Atanh)
SAMITE_TILE_FUNCTION(erf, Erf)
SAMITE_TILE_FUNCTION(erfc, Erfc)
SAMITE_TILE_FUNCTION(lgamma, Lgamma)
SAMITE_TILE_FUNCTION(digamma, Digamma)
SAMITE_TILE_FUNCTION(floor, Floor)
SAMITE_TILE_FUNCTION(ceil, Ceil)
SAMITE_TILE_FUNCTION(round, Round)
SAMITE_TILE_FUNCTION(trunc, Trunc)
SAMITE_TILE_FUNCTION(stop_gradient, StopGradient)
#undef SAMITE_TILE_FUNCTION

#define SAMITE_TILE_FUNCTION(name, op)                                                        \
  template <class A, class B>                                                                 \
    requires lang::TileOperands<A, B>                                                         \
  auto name(const A &a, const B &b, SourceLocation where = std::source_location::current()) { \
    return lang::on_tiles(ir::Op::op, a, b, where);                                           \
  }
SAMITE_TILE_FUNCTION(atan2, Atan2)
SAMITE_TILE_FUNCTION(pow, Pow)
SAMITE_TILE_FUNCTION(hypot, Hypot)
SAMITE_TILE_FUNCTION(fmod, Fmod)
SAMITE_TILE_FUNCTION(copysign, CopySign)
SAMITE_TILE_FUNCTION(min, Min)
SAMITE_TILE_FUNCTION(max, Max)
#undef SAMITE_TILE_FUNCTION

template <Scalar T>
  requires(ArithmeticScalar<T>)
Tile<T> abs(const Tile<T> &a, SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::record_on_tiles(ir::Op::Abs, scalar_type_of<T>, {a.value(where)}, where));
}

// Element by element, `a` where the condition holds and `b` elsewhere.
template <class A, class B>
  requires(lang::TileOperands<A, B> || (lang::Number<A> && lang::Number<B>))
auto select(const Tile<bool> &condition, const A &a, const B &b,
            SourceLocation where = std::source_location::current()) {
  using T = typename lang::SelectedElement<A, B>::type;
  static_assert(!std::is_void_v<T>, "select: the two values have types that do not meet; cast one of them");
  if constexpr (!std::is_void_v<T>)
    return Tile<T>::adopt(lang::record_on_tiles(
        ir::Op::Select, scalar_type_of<T>,
        {condition.value(where), TileOperand<T>(a, where).value(), TileOperand<T>(b, where).value()}, where));
}

}  // namespace samite
