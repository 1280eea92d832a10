// Tiles: blocks of numbers that the threads of a block hold together.
//
//   TileKernel gemm{"gemm", [](Array<const float, 2> a, Array<const float, 2> b, Array<float, 2> c) {
//     auto [i, j] = block_index<2>();
//     Tile<float> sum = tile::zeros<float>({64, 64});
//     for (Int k : range(tile::ceil_div(a.extent(1), 32)))
//       tile::matmul(tile::load(a, {i, k}, {64, 32}), tile::load(b, {k, j}, {32, 64}), sum);
//     tile::store(c, {i, j}, sum);
//   }};
//   gemm.launch({rows, columns}, a, b, c);   // this many blocks
//
// The kernel's function describes one block. A Tile<T> has one to four extents, which are known when the kernel is
// captured, and is used like a number: operators and functions (lang/tile_math.h) work on each element. The extents of
// two operands must be equal, or 1, which is then repeated; a number combines with any tile. Traced numbers belong to
// the block, and may steer its control flow: all of its threads take the same path.
//
// If two tiles do not fit each other, a UserError names both extents.
#pragma once

#include "samite/ir/operation.h"
#include "samite/lang/array.h"
#include "samite/lang/control.h"

#include <vector>

namespace samite {

// One extent of a tile: an integer of C++.
class TileExtent {
 public:
  template <std::integral A>
  constexpr TileExtent(A extent) : extent_(static_cast<std::int64_t>(extent)) {}
  template <lang::TracedValue A>
  TileExtent(const A &) : extent_(0) {
    static_assert(
        !lang::TracedValue<A>,
        "the extents of a tile are known when the kernel is captured: integers of C++, not traced values; let "
        "the tile reach beyond the array, where it is zero, or loop over tiles");
  }
  constexpr operator std::int64_t() const { return extent_; }

 private:
  std::int64_t extent_;
};
using TileExtents = std::initializer_list<TileExtent>;

template <Scalar T>
class Tile;

namespace lang {

// An element-wise operation on tiles and numbers whose extents are compatible. `result` is the element type.
ir::Value record_on_tiles(ir::Op op, ScalarType result, std::vector<ir::Value> operands, SourceLocation where);
ir::Value record_tile(ir::Operation operation, SourceLocation where);
// The common extents of two tiles; a tile without dimensions is a number. UserError if they are incompatible.
ir::TileShape shape_of_both(const ir::TileShape &a, const ir::TileShape &b, SourceLocation where);
ir::Type tile_type(ScalarType element, TileExtents extents, SourceLocation where);
void assign_tile(LocalHandle &target, const ir::Type &type, ir::Value value, SourceLocation where);
// The dimension, counted from the last one if negative. UserError unless the tile has this dimension.
int tile_dimension(int dimension, const ir::Type &type, SourceLocation where);

}  // namespace lang

// One operand of an element-wise operation: a tile or a number. Made by implicit conversion only.
template <Scalar T>
class TileOperand {
 public:
  TileOperand(const Tile<T> &tile, SourceLocation where = std::source_location::current())
      : where_(where), value_(tile.value(where)) {}
  template <class From>
    requires PromotesTo<From, T>
  TileOperand(const Tile<From> &tile, SourceLocation where = std::source_location::current())
      : where_(where), value_(lang::record_on_tiles(ir::Op::Cast, scalar_type_of<T>, {tile.value(where)}, where)) {}
  template <class A>
    requires std::convertible_to<const A &, Operand<T>>
  TileOperand(const A &number, SourceLocation where = std::source_location::current())
      : where_(where), value_(Operand<T>(number, where).value()) {}

  SourceLocation where() const { return where_; }
  ir::Value value() const { return value_; }

 private:
  SourceLocation where_;
  ir::Value value_;
};

namespace lang {

// A number that T promotes to, so that the result has the number's type.
template <class A, class T>
concept NumberAbove = Number<A> && ArithmeticScalar<T> && ArithmeticScalar<meeting_type<Traced<T>, A>> &&
                      !std::same_as<meeting_type<Traced<T>, A>, T>;
// A tile that does not promote to T: their types have no common type, or another one than T.
template <class A, class T>
concept TileToBeCast = requires { []<Scalar S>(const Tile<S> &) {}(std::declval<const A &>()); } &&
                       !std::convertible_to<const A &, TileOperand<T>>;
template <class A, class T>
concept OperandToBeCast = TileToBeCast<A, T> || (Number<A> && !std::convertible_to<const A &, Operand<T>>);

// One element of a tile, zero if the index is outside. UserError unless there is an index for each dimension.
ir::Value element_of_tile(const ir::Value &tile, std::initializer_list<Index> at, SourceLocation where);

template <Scalar T>
struct TileOperators {
  using Truth = std::conditional_t<sizeof(T) != 0, bool, T>;

#define SAMITE_BINARY(symbol, op, result, condition)                                             \
  friend Tile<result> operator symbol(const TileOperand<T> &a, const TileOperand<T> &b)          \
    requires(condition)                                                                          \
  {                                                                                              \
    return Tile<result>::adopt(                                                                  \
        record_on_tiles(ir::Op::op, scalar_type_of<result>, {a.value(), b.value()}, a.where())); \
  }
  SAMITE_BINARY(+, Add, T, (ArithmeticScalar<T>))
  SAMITE_BINARY(-, Sub, T, (ArithmeticScalar<T>))
  SAMITE_BINARY(*, Mul, T, (ArithmeticScalar<T>))
  SAMITE_BINARY(/, Div, T, (ArithmeticScalar<T>))
  SAMITE_BINARY(%, Rem, T, (std::integral<T> && ArithmeticScalar<T>))
  SAMITE_BINARY(&, And, T, (std::integral<T>))
  SAMITE_BINARY(|, Or, T, (std::integral<T>))
  SAMITE_BINARY(^, Xor, T, (std::integral<T>))
  SAMITE_BINARY(<<, ShiftLeft, T, (std::integral<T> && ArithmeticScalar<T>))
  SAMITE_BINARY(>>, ShiftRight, T, (std::integral<T> && ArithmeticScalar<T>))
  SAMITE_BINARY(==, Equal, Truth, true)
  SAMITE_BINARY(!=, NotEqual, Truth, true)
  SAMITE_BINARY(<, Less, Truth, (ArithmeticScalar<T>))
  SAMITE_BINARY(<=, LessEqual, Truth, (ArithmeticScalar<T>))
  SAMITE_BINARY(>, Greater, Truth, (ArithmeticScalar<T>))
  SAMITE_BINARY(>=, GreaterEqual, Truth, (ArithmeticScalar<T>))
  SAMITE_BINARY(&&, And, Truth, (std::same_as<T, bool>))
  SAMITE_BINARY(||, Or, Truth, (std::same_as<T, bool>))
#undef SAMITE_BINARY

  // With a number that T promotes to: a tile of Int times a Float, or times 0.5.
#define SAMITE_BESIDE_NUMBER(symbol, op, result)                                                         \
  template <class A>                                                                                     \
    requires NumberAbove<A, T>                                                                           \
  friend auto operator symbol(const TileOperand<T> &a, const A &b) {                                     \
    using Common = meeting_type<Traced<T>, A>;                                                           \
    return Tile<result>::adopt(                                                                          \
        record_on_tiles(ir::Op::op, scalar_type_of<result>,                                              \
                        {record_on_tiles(ir::Op::Cast, scalar_type_of<Common>, {a.value()}, a.where()),  \
                         Operand<Common>(b, a.where()).value()},                                         \
                        a.where()));                                                                     \
  }                                                                                                      \
  template <class A>                                                                                     \
    requires NumberAbove<A, T>                                                                           \
  friend auto operator symbol(const A &a, const TileOperand<T> &b) {                                     \
    using Common = meeting_type<Traced<T>, A>;                                                           \
    return Tile<result>::adopt(                                                                          \
        record_on_tiles(ir::Op::op, scalar_type_of<result>,                                              \
                        {Operand<Common>(a, b.where()).value(),                                          \
                         record_on_tiles(ir::Op::Cast, scalar_type_of<Common>, {b.value()}, b.where())}, \
                        b.where()));                                                                     \
  }
  SAMITE_BESIDE_NUMBER(+, Add, Common)
  SAMITE_BESIDE_NUMBER(-, Sub, Common)
  SAMITE_BESIDE_NUMBER(*, Mul, Common)
  SAMITE_BESIDE_NUMBER(/, Div, Common)
  SAMITE_BESIDE_NUMBER(==, Equal, Truth)
  SAMITE_BESIDE_NUMBER(!=, NotEqual, Truth)
  SAMITE_BESIDE_NUMBER(<, Less, Truth)
  SAMITE_BESIDE_NUMBER(<=, LessEqual, Truth)
  SAMITE_BESIDE_NUMBER(>, Greater, Truth)
  SAMITE_BESIDE_NUMBER(>=, GreaterEqual, Truth)
#undef SAMITE_BESIDE_NUMBER

  friend Tile<T> operator-(const TileOperand<T> &a)
    requires(ArithmeticScalar<T>)
  {
    return Tile<T>::adopt(record_on_tiles(ir::Op::Neg, scalar_type_of<T>, {a.value()}, a.where()));
  }
  friend Tile<T> operator~(const TileOperand<T> &a)
    requires(std::integral<T> && ArithmeticScalar<T>)
  {
    return Tile<T>::adopt(record_on_tiles(ir::Op::Not, scalar_type_of<T>, {a.value()}, a.where()));
  }
  friend Tile<Truth> operator!(const TileOperand<T> &a)
    requires(std::same_as<T, bool>)
  {
    return Tile<Truth>::adopt(record_on_tiles(ir::Op::Not, ScalarType::Bool, {a.value()}, a.where()));
  }
};

}  // namespace lang

template <Scalar T>
class Tile : public lang::TileOperators<T> {
 public:
  using value_type = T;

  Tile(const Tile &other, SourceLocation where = std::source_location::current())
      : Tile(copy(other.value(where), where)) {}
  template <std::integral A>
  Tile(std::initializer_list<A>) = delete;  // tiles are made by tile::zeros<float>({8, 16}), tile::full, tile::load, …
  Tile(Tile &&other) noexcept : type_(other.type_), local_(std::move(other.local_)) {}
  ~Tile() {}  // NOLINT(modernize-use-equals-default): as Traced

  // Assignment writes to this tile, whose extents stay the same. A moved-from tile may be assigned to itself, as
  // std::swap of a tile with itself does.
  Tile &operator=(const Tile &other) { return this == &other ? *this : assign(other.value(lang::latest_location())); }
  Tile &operator=(Tile &&other) { return *this = std::as_const(other); }
  Tile &operator=(const TileOperand<T> &value) { return assign(value.value()); }

  Tile &operator+=(const TileOperand<T> &b) { return update(ir::Op::Add, b); }
  Tile &operator-=(const TileOperand<T> &b) { return update(ir::Op::Sub, b); }
  Tile &operator*=(const TileOperand<T> &b) { return update(ir::Op::Mul, b); }
  Tile &operator/=(const TileOperand<T> &b) { return update(ir::Op::Div, b); }
#define SAMITE_UPDATE(symbol, op, condition)                                                                       \
  Tile &operator symbol(const TileOperand<T> &b)                                                                   \
    requires(condition)                                                                                            \
  {                                                                                                                \
    return assign(lang::record_on_tiles(ir::Op::op, scalar_type_of<T>, {value(b.where()), b.value()}, b.where())); \
  }
  SAMITE_UPDATE(%=, Rem, std::integral<T> &&ArithmeticScalar<T>)
  SAMITE_UPDATE(&=, And, std::integral<T>)
  SAMITE_UPDATE(|=, Or, std::integral<T>)
  SAMITE_UPDATE(^=, Xor, std::integral<T>)
  SAMITE_UPDATE(<<=, ShiftLeft, std::integral<T> &&ArithmeticScalar<T>)
  SAMITE_UPDATE(>>=, ShiftRight, std::integral<T> &&ArithmeticScalar<T>)
#undef SAMITE_UPDATE
  Tile &operator++()
    requires(ArithmeticScalar<T>)
  {
    return *this += TileOperand<T>(1, lang::latest_location());
  }
  Tile &operator--()
    requires(ArithmeticScalar<T>)
  {
    return *this -= TileOperand<T>(1, lang::latest_location());
  }
  Tile operator++(int)
    requires(ArithmeticScalar<T>)
  {
    Tile before(*this, lang::latest_location());
    ++*this;
    return before;
  }
  Tile operator--(int)
    requires(ArithmeticScalar<T>)
  {
    Tile before(*this, lang::latest_location());
    --*this;
    return before;
  }
  // Refused: C++ would silently lose digits or the sign.
#define SAMITE_REFUSED(symbol)           \
  template <class A>                     \
    requires lang::OperandToBeCast<A, T> \
  lang::cast_what_is_assigned operator symbol(const A &) = delete;
  SAMITE_REFUSED(=)   // it does not promote: tile::cast<float>(t), cast<Float>(x)
  SAMITE_REFUSED(+=)  // it does not promote: tile::cast<float>(t), cast<Float>(x)
  SAMITE_REFUSED(-=)  // it does not promote: tile::cast<float>(t), cast<Float>(x)
  SAMITE_REFUSED(*=)  // it does not promote: tile::cast<float>(t), cast<Float>(x)
  SAMITE_REFUSED(/=)  // it does not promote: tile::cast<float>(t), cast<Float>(x)
#undef SAMITE_REFUSED

  // The number t(i, j), or t[i] in a tile of one dimension; zero outside of the tile. It is a value, to which nothing
  // can be assigned: tile::insert replaces an element. NOLINTBEGIN(readability-const-return-type)
  const Traced<T> operator()(Index i) const { return element({i}, i.where()); }
  const Traced<T> operator()(Index i, Index j) const { return element({i, j}, i.where()); }
  const Traced<T> operator()(Index i, Index j, Index k) const { return element({i, j, k}, i.where()); }
  const Traced<T> operator()(Index i, Index j, Index k, Index l) const { return element({i, j, k, l}, i.where()); }
  const Traced<T> operator[](Index i) const { return element({i}, i.where()); }
  // NOLINTEND(readability-const-return-type)

  int rank() const { return type_.shape().rank(); }
  std::int64_t extent(int dimension, SourceLocation where = std::source_location::current()) const {
    return type_.shape()[lang::tile_dimension(dimension, type_, where)];
  }

  // For the library: the local as an operand, and a tile that owns a fresh local.
  const ir::Type &type() const { return type_; }
  ir::Value value(SourceLocation where) const { return local_.value(type_, where); }
  static Tile adopt(ir::Value value) { return Tile(value, Adopt{}); }
  static Tile copy(ir::Value value, SourceLocation where) {
    return adopt(lang::record_tile({ir::Op::Copy, value.type(), {value}}, where));
  }

 private:
  struct Adopt {};
  Tile(ir::Value value, Adopt) : type_(value.type()), local_(value.id()) {}

  Tile &assign(ir::Value value) {
    lang::assign_tile(local_, type_, value, lang::latest_location());
    return *this;
  }

  Traced<T> element(std::initializer_list<Index> at, SourceLocation where) const {
    return Traced<T>::adopt(lang::element_of_tile(value(where), at, where));
  }

  Tile &update(ir::Op op, const TileOperand<T> &b) {
    static_assert(!std::same_as<T, bool>, "arithmetic on a tile of bool");
    return assign(lang::record_on_tiles(op, scalar_type_of<T>, {value(b.where()), b.value()}, b.where()));
  }

  ir::Type type_;
  lang::LocalHandle local_;
};

// The index of this block: one number for each dimension of the launch, the last one fastest.
template <int Rank>
  requires(Rank >= 1 && Rank <= 4)
std::array<Int, Rank> block_index(SourceLocation where = std::source_location::current());
Int block_index(SourceLocation where = std::source_location::current());

namespace lang {
Int record_block_index(int dimension, int rank, SourceLocation where);
}

template <int Rank>
  requires(Rank >= 1 && Rank <= 4)
std::array<Int, Rank> block_index(SourceLocation where) {
  return [&]<std::size_t... D>(std::index_sequence<D...>) {
    return std::array<Int, Rank>{lang::record_block_index(static_cast<int>(D), Rank, where)...};
  }(std::make_index_sequence<Rank>{});
}

}  // namespace samite
