// Tiles: blocks of numbers that the threads of a block hold together.
//
//   TileKernel gemm{"gemm", [](Array<const float, 2> a, Array<const float, 2> b, Array<float, 2> c) {
//     auto [i, j] = block_index<2>();
//     Tile<float> sum = tile::zeros<float>({64, 64});
//     for (Int k : range(tile::ceil_div(a.extent(1), 32)))
//       tile::matmul(tile::load(a, {i, k}, {64, 32}), tile::load(b, {k, j}, {32, 64}), sum);
//     tile::store(c, {i, j}, sum);
//   }};
//   gemm.launch({rows, columns}, a, b, c);   // so many blocks
//
// The kernel's function describes one block. A Tile<T> has one to four extents, which are known when the kernel is
// captured, and is used like a number: operators and functions (lang/tile_math.h) work on each element. The extents of
// two operands must be equal, or 1, which is then repeated; a number combines with any tile. Traced numbers belong to
// the block, and may steer its control flow: all of its threads take the same path.
//
// If two tiles do not fit each other, a UserError names both extents.
#pragma once

#include "samite/ir/stmt.h"
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

// An operation on the elements of tiles and numbers that fit each other. `result` is the element type.
ir::Value record_on_tiles(ir::Op op, ScalarType result, std::vector<ir::Value> operands, SourceLocation where);
ir::Value record_tile(ir::Operation operation, SourceLocation where);
ir::Type tile_type(ScalarType element, TileExtents extents, SourceLocation where);
void assign_tile(LocalHandle &target, const ir::Type &type, ir::Value value, SourceLocation where);

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
  SAMITE_BINARY(==, Equal, Truth, true)
  SAMITE_BINARY(!=, NotEqual, Truth, true)
  SAMITE_BINARY(<, Less, Truth, (ArithmeticScalar<T>))
  SAMITE_BINARY(<=, LessEqual, Truth, (ArithmeticScalar<T>))
  SAMITE_BINARY(>, Greater, Truth, (ArithmeticScalar<T>))
  SAMITE_BINARY(>=, GreaterEqual, Truth, (ArithmeticScalar<T>))
  SAMITE_BINARY(&&, And, Truth, (std::same_as<T, bool>))
  SAMITE_BINARY(||, Or, Truth, (std::same_as<T, bool>))
#undef SAMITE_BINARY

  friend Tile<T> operator-(const TileOperand<T> &a)
    requires(ArithmeticScalar<T>)
  {
    return Tile<T>::adopt(record_on_tiles(ir::Op::Neg, scalar_type_of<T>, {a.value()}, a.where()));
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

  int rank() const { return type_.shape().rank(); }
  std::int64_t extent(int dimension) const { return type_.shape()[dimension]; }

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
