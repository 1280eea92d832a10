// Mathematical functions of tiles, element by element: names and meanings are those of lang/math.h.
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

// A tile's elements as a traced number; any other operand unchanged.
template <class A>
struct NumberFor {
  using type = std::remove_cvref_t<A>;
};
template <Scalar T>
struct NumberFor<Tile<T>> {
  using type = Traced<T>;
};
template <class A>
using number_for = typename NumberFor<std::remove_cvref_t<A>>::type;
template <class A>
concept TileOrNumber = TileValue<A> || Number<A>;

// The common type of tiles and numbers, at least one of them a tile, by the rules for numbers; void if there is none.
template <class A, class B>
using tile_meeting_type = meeting_type<number_for<A>, number_for<B>>;
template <class A, class B>
concept TilesMeet = TileOperands<A, B> && TileOrNumber<A> && TileOrNumber<B>;
template <class A, class B, class C>
using tile_meeting_of_three = typename MeetingOfThree<number_for<A>, number_for<B>, number_for<C>>::type;
template <class A, class B, class C>
concept ThreeOnTiles =
    (TileValue<A> || TileValue<B> || TileValue<C>) && TileOrNumber<A> && TileOrNumber<B> && TileOrNumber<C> &&
    FloatingScalar<tile_meeting_of_three<A, B, C>> && ArithmeticScalar<tile_meeting_of_three<A, B, C>>;

// Tiles without an operator between them: one or both must be cast first.
template <class A, class B>
concept TilesApartAsNumbers = TilesMeet<A, B> && !ArithmeticScalar<tile_meeting_type<A, B>>;
template <class A, class B>
concept TilesApartAsIntegers =
    TilesMeet<A, B> && !(std::integral<tile_meeting_type<A, B>> && ArithmeticScalar<tile_meeting_type<A, B>>);
template <class A, class B>
concept TilesApartAsBits = TilesMeet<A, B> && !std::integral<tile_meeting_type<A, B>>;
template <class A, class B>
concept TilesApartAsValues = TilesMeet<A, B> && std::is_void_v<tile_meeting_type<A, B>>;
template <class A, class B>
concept TilesApartAsTruth = TilesMeet<A, B> && !std::same_as<tile_meeting_type<A, B>, bool>;
template <class A>
concept TileThatIsNotFloating =
    TileValue<A> && !(FloatingScalar<tile_element_of<A>> && ArithmeticScalar<tile_element_of<A>>);

// Converted to T, from types that promote to it and from numbers whose common type with it is T.
template <Scalar T, class A>
ir::Value tile_operand(const A &a, SourceLocation where) {
  if constexpr (TileValue<A>)
    return TileOperand<T>(a, where).value();
  else
    return Operand<T>(a, where).value();
}

template <class A, class B>
auto on_tiles(ir::Op op, const A &a, const B &b, SourceLocation where) {
  using T = tile_meeting_type<A, B>;
  static_assert(!std::is_void_v<T>, "the two arguments have types that do not meet; cast one of them");
  if constexpr (!std::is_void_v<T>)
    return Tile<T>::adopt(
        record_on_tiles(op, scalar_type_of<T>, {tile_operand<T>(a, where), tile_operand<T>(b, where)}, where));
}

// Passes three operands in their common type T to a function; `with` combines their elements into a Tile<T>.
template <class A, class B, class C, class F>
auto with_three_tiles(const A &a, const B &b, const C &c, SourceLocation where, const F &function) {
  using T = tile_meeting_of_three<A, B, C>;
  const auto with = [&](ir::Op op, const auto &...x) { return record_on_tiles(op, scalar_type_of<T>, {x...}, where); };
  const auto number = [](double x) { return ir::Value::constant(scalar_type_of<T>, x); };
  return Tile<T>::adopt(
      function(tile_operand<T>(a, where), tile_operand<T>(b, where), tile_operand<T>(c, where), with, number));
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
    requires lang::TilesMeet<A, B>                                                            \
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

#define SAMITE_REFUSED(name)               \
  template <lang::TileThatIsNotFloating A> \
  lang::cast_the_argument name(const A &) = delete;
SAMITE_REFUSED(sqrt)   // of tiles of floating numbers: write sqrt(tile::cast<float>(t))
SAMITE_REFUSED(rsqrt)  // of tiles of floating numbers: write rsqrt(tile::cast<float>(t))
SAMITE_REFUSED(exp)    // of tiles of floating numbers: write exp(tile::cast<float>(t))
SAMITE_REFUSED(exp2)   // of tiles of floating numbers: write exp2(tile::cast<float>(t))
SAMITE_REFUSED(log)    // of tiles of floating numbers: write log(tile::cast<float>(t))
SAMITE_REFUSED(log2)   // of tiles of floating numbers: write log2(tile::cast<float>(t))
SAMITE_REFUSED(sin)    // of tiles of floating numbers: write sin(tile::cast<float>(t))
SAMITE_REFUSED(cos)    // of tiles of floating numbers: write cos(tile::cast<float>(t))
SAMITE_REFUSED(tanh)   // of tiles of floating numbers: write tanh(tile::cast<float>(t))
SAMITE_REFUSED(erf)    // of tiles of floating numbers: write erf(tile::cast<float>(t))
SAMITE_REFUSED(floor)  // of tiles of floating numbers: write floor(tile::cast<float>(t))
SAMITE_REFUSED(ceil)   // of tiles of floating numbers: write ceil(tile::cast<float>(t))
SAMITE_REFUSED(round)  // of tiles of floating numbers: write round(tile::cast<float>(t))
#undef SAMITE_REFUSED

#define SAMITE_REFUSED(symbol, apart) \
  template <class A, class B>         \
    requires lang::apart<A, B>        \
  lang::cast_one_operand operator symbol(const A &, const B &) = delete;
SAMITE_REFUSED(+, TilesApartAsNumbers)    // types that do not meet, or have no arithmetic: tile::cast<float>(t), …
SAMITE_REFUSED(-, TilesApartAsNumbers)    // types that do not meet, or have no arithmetic: tile::cast<float>(t), …
SAMITE_REFUSED(*, TilesApartAsNumbers)    // types that do not meet, or have no arithmetic: tile::cast<float>(t), …
SAMITE_REFUSED(/, TilesApartAsNumbers)    // types that do not meet, or have no arithmetic: tile::cast<float>(t), …
SAMITE_REFUSED(%, TilesApartAsIntegers)   // of integers whose types meet; fmod(x, y) is of floating numbers
SAMITE_REFUSED(&, TilesApartAsBits)       // of integers or bool, in types that meet: tile::cast<std::int32_t>(t)
SAMITE_REFUSED(|, TilesApartAsBits)       // of integers or bool, in types that meet: tile::cast<std::int32_t>(t)
SAMITE_REFUSED(^, TilesApartAsBits)       // of integers or bool, in types that meet: tile::cast<std::int32_t>(t)
SAMITE_REFUSED(<<, TilesApartAsIntegers)  // of integers whose types meet: tile::cast<std::int32_t>(t)
SAMITE_REFUSED(>>, TilesApartAsIntegers)  // of integers whose types meet: tile::cast<std::int32_t>(t)
SAMITE_REFUSED(==, TilesApartAsValues)    // types that do not meet: tile::cast<float>(t), …
SAMITE_REFUSED(!=, TilesApartAsValues)    // types that do not meet: tile::cast<float>(t), …
SAMITE_REFUSED(<, TilesApartAsNumbers)    // types that do not meet, or have no order: tile::cast<float>(t), …
SAMITE_REFUSED(<=, TilesApartAsNumbers)   // types that do not meet, or have no order: tile::cast<float>(t), …
SAMITE_REFUSED(>, TilesApartAsNumbers)    // types that do not meet, or have no order: tile::cast<float>(t), …
SAMITE_REFUSED(>=, TilesApartAsNumbers)   // types that do not meet, or have no order: tile::cast<float>(t), …
SAMITE_REFUSED(&&, TilesApartAsTruth)     // of bool: write t != 0
SAMITE_REFUSED(||, TilesApartAsTruth)     // of bool: write t != 0
#undef SAMITE_REFUSED

template <Scalar T>
  requires(ArithmeticScalar<T>)
Tile<T> abs(const Tile<T> &a, SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::record_on_tiles(ir::Op::Abs, scalar_type_of<T>, {a.value(where)}, where));
}

template <class A, class L, class H>
  requires(lang::TileValue<A> || (lang::ArithmeticValue<A> && lang::TileOperands<L, H>))
auto clamp(const A &a, const L &low, const H &high, SourceLocation where = std::source_location::current()) {
  return min(max(a, low, where), high, where);
}

// a b + c, rounded once on every target.
template <class A, class B, class C>
  requires lang::ThreeOnTiles<A, B, C>
auto fma(const A &a, const B &b, const C &c, SourceLocation where = std::source_location::current()) {
  return lang::with_three_tiles(a, b, c, where,
                                [](const auto &x, const auto &y, const auto &z, const auto &with, const auto &) {
                                  return with(ir::Op::Fma, x, y, z);
                                });
}
template <class A, class B, class C>
  requires lang::ThreeOnTiles<A, B, C>
auto lerp(const A &a, const B &b, const C &t, SourceLocation where = std::source_location::current()) {
  return lang::with_three_tiles(a, b, t, where,
                                [](const auto &x, const auto &y, const auto &s, const auto &with, const auto &) {
                                  return with(ir::Op::Add, x, with(ir::Op::Mul, with(ir::Op::Sub, y, x), s));
                                });
}
template <class A, class B, class C>
  requires lang::ThreeOnTiles<A, B, C>
auto smoothstep(const A &low, const B &high, const C &x, SourceLocation where = std::source_location::current()) {
  return lang::with_three_tiles(
      low, high, x, where, [](const auto &from, const auto &to, const auto &at, const auto &with, const auto &number) {
        const auto part = with(ir::Op::Div, with(ir::Op::Sub, at, from), with(ir::Op::Sub, to, from));
        const auto t = with(ir::Op::Min, with(ir::Op::Max, part, number(0)), number(1));
        const auto slope = with(ir::Op::Sub, number(3), with(ir::Op::Mul, number(2), t));
        return with(ir::Op::Mul, with(ir::Op::Mul, t, t), slope);
      });
}
template <FloatingScalar T>
  requires ArithmeticScalar<T>
auto sincos(const Tile<T> &a, SourceLocation where = std::source_location::current()) {
  return std::pair{sin(a, where), cos(a, where)};
}

namespace lang {
template <class T>
Tile<bool> tile_beside_infinity(ir::Op comparison, const Tile<T> &a, SourceLocation where) {
  const ir::Value infinity = ir::Value::constant(scalar_type_of<T>, std::numeric_limits<double>::infinity());
  return Tile<bool>::adopt(
      record_on_tiles(comparison, ScalarType::Bool, {abs(a, where).value(where), infinity}, where));
}
}  // namespace lang
template <FloatingScalar T>
  requires ArithmeticScalar<T>
Tile<bool> isnan(const Tile<T> &a, SourceLocation where = std::source_location::current()) {
  return Tile<bool>::adopt(
      lang::record_on_tiles(ir::Op::NotEqual, ScalarType::Bool, {a.value(where), a.value(where)}, where));
}
template <FloatingScalar T>
  requires ArithmeticScalar<T>
Tile<bool> isinf(const Tile<T> &a, SourceLocation where = std::source_location::current()) {
  return lang::tile_beside_infinity(ir::Op::Equal, a, where);
}
template <FloatingScalar T>
  requires ArithmeticScalar<T>
Tile<bool> isfinite(const Tile<T> &a, SourceLocation where = std::source_location::current()) {
  return lang::tile_beside_infinity(ir::Op::Less, a, where);
}

#define SAMITE_BITS_FUNCTION(name, op)                                                                        \
  template <std::integral T>                                                                                  \
    requires ArithmeticScalar<T>                                                                              \
  Tile<std::int32_t> name(const Tile<T> &a, SourceLocation where = std::source_location::current()) {         \
    const ir::Value count = lang::record_on_tiles(ir::Op::op, scalar_type_of<T>, {a.value(where)}, where);    \
    return Tile<std::int32_t>::adopt(lang::record_on_tiles(ir::Op::Cast, ScalarType::Int32, {count}, where)); \
  }
SAMITE_BITS_FUNCTION(popcount, PopCount)
SAMITE_BITS_FUNCTION(clz, LeadingZeros)
SAMITE_BITS_FUNCTION(ctz, TrailingZeros)
#undef SAMITE_BITS_FUNCTION

namespace lang {
// float, or Float: functions for both numbers and tiles name the type as functions of numbers do.
template <class A>
struct ElementNamed : ValueType<A> {};
template <Scalar T>
struct ElementNamed<T> {
  using type = T;
};
template <class A>
using element_named = typename ElementNamed<A>::type;
template <class A>
concept NamesElement = Scalar<element_named<A>>;
}  // namespace lang

template <lang::NamesElement To, Scalar From>
auto cast(const Tile<From> &x, SourceLocation where = std::source_location::current()) {
  using T = lang::element_named<To>;
  return Tile<T>::adopt(lang::record_on_tiles(ir::Op::Cast, scalar_type_of<T>, {x.value(where)}, where));
}
// The same bits in another type of the same size; derivatives treat them as constants.
template <lang::NamesElement To, Scalar From>
  requires ArithmeticScalar<From>
auto bit_cast(const Tile<From> &x, SourceLocation where = std::source_location::current()) {
  using T = lang::element_named<To>;
  static_assert(sizeof(T) == sizeof(From), "bit_cast: the two types have as many bytes");
  static_assert(
      !(FloatingScalar<T> && sizeof(T) <= 2) && !(FloatingScalar<From> && sizeof(From) <= 2) && !std::same_as<T, bool>,
      "bit_cast: cast tiles of half and bfloat16 to float first; bool has no bits of its own");
  return Tile<T>::adopt(lang::record_on_tiles(ir::Op::BitCast, scalar_type_of<T>, {x.value(where)}, where));
}

namespace lang {
template <class A, class B>
auto select_on_tiles(const ir::Value &condition, const A &a, const B &b, SourceLocation where) {
  using T = selected_type<number_for<A>, number_for<B>>;
  static_assert(!std::is_void_v<T>, "select: the two values have types that do not meet; cast one of them");
  if constexpr (!std::is_void_v<T>)
    return Tile<T>::adopt(record_on_tiles(ir::Op::Select, scalar_type_of<T>,
                                          {condition, tile_operand<T>(a, where), tile_operand<T>(b, where)}, where));
}
}  // namespace lang

// Element by element, `a` where the condition holds and `b` elsewhere.
template <class A, class B>
  requires(lang::TileOrNumber<A> && lang::TileOrNumber<B>)
auto select(const Tile<bool> &condition, const A &a, const B &b,
            SourceLocation where = std::source_location::current()) {
  return lang::select_on_tiles(condition.value(where), a, b, where);
}
// All elements of `a` or of `b`, selected by a number of the block or of the capture.
template <class A, class B>
  requires(lang::TilesMeet<A, B>)
auto select(const Operand<bool> &condition, const A &a, const B &b) {
  return lang::select_on_tiles(condition.value(), a, b, condition.where());
}

// 1, -1, or a itself if it is zero or NaN; derivatives treat it as a constant.
template <Scalar T>
  requires ArithmeticScalar<T>
Tile<T> sign(const Tile<T> &a, SourceLocation where = std::source_location::current()) {
  const lang::Attributed<Traced<T>> at(where);
  const auto is = [&](ir::Op op) {
    return Tile<bool>::adopt(
        lang::record_on_tiles(op, ScalarType::Bool, {a.value(where), ir::Value::zero(scalar_type_of<T>)}, where));
  };
  Tile<T> result = select(is(ir::Op::Greater), 1, a, where);
  if constexpr (std::is_signed_v<T> || FloatingScalar<T>) result = select(is(ir::Op::Less), -1, result, where);
  if constexpr (FloatingScalar<T>)
    return stop_gradient(result, where);
  else
    return result;
}

}  // namespace samite
