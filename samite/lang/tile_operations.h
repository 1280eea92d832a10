// Operations on tiles: the namespace `tile`.
//
// Arrays are cut into tiles from their first element on: `load(a, {i, j}, {64, 32})` is tile (i, j) of those of 64 by
// 32, zero where it reaches beyond the array, and `store` leaves out what is outside. A tile has as many dimensions as
// the array, or fewer: it then lies along the last ones, and the first indices count elements. `load_at` and `store_at`
// begin at any element, even before the array.
//
//   Tile<float> x = tile::load(a, {i, 0}, {1, 256});
//   Tile<float> e = exp(x - tile::max(x, {1}));
//   tile::store(b, {i, 0}, e / tile::sum(e, {1}));
//
// A reduction leaves extent 1 along the given dimensions, so that its result combines with its operand; without
// dimensions it reduces all elements to a number.
#pragma once

#include "samite/lang/tile.h"
#include "samite/lang/tile_math.h"

namespace samite {
namespace lang {

using Indices = std::initializer_list<Index>;
using Dimensions = std::initializer_list<int>;

// The first element of a tile, from the tile's number (`cut`) or an element's indices. UserError if the number of
// indices is not that of the array's dimensions, or the tile has more dimensions.
std::vector<ir::Value> tile_origin(Indices indices, const ir::Type &type, int rank, bool cut, SourceLocation where);
void store_tile(std::uint32_t array, std::vector<ir::Value> indices, ir::Value value, SourceLocation where);
void add_tile(std::uint32_t array, std::vector<ir::Value> indices, ir::Value value, SourceLocation where);
ir::Value fill_tile(const ir::Type &type, const ir::Value &number, SourceLocation where);
ir::Value load_tile(std::uint32_t array, std::vector<ir::Value> indices, const ir::Type &type, SourceLocation where);
ir::Value reduce_tile(ir::Op op, ScalarType result, ir::Value tile, Dimensions along, SourceLocation where);
ir::Value transpose_tile(ir::Value tile, Dimensions order, SourceLocation where);
ir::Value concatenate_tiles(ir::Value a, ir::Value b, int dimension, SourceLocation where);
ir::Value multiply_tiles(ir::Value a, ir::Value b, ir::Value sum, bool transposed_a, bool transposed_b, bool tf32,
                         SourceLocation where);
// UserError if factors of another type than float are to be rounded to tf32.
void check_precision(bool tf32, ScalarType factor, SourceLocation where);
ir::Value scaled_product(ir::Value alpha, ir::Value a, ir::Value b, ir::Value beta, ir::Value sum, bool transposed_a,
                         bool transposed_b, SourceLocation where);
ir::Value window_tile(ir::Value tile, Indices begin, TileExtents extents, SourceLocation where);
// Replaces one element; and returns the positions of a view's elements, an index tile for each dimension of the array
// that the tile lies along.
ir::Value insert_into_tile(ir::Value x, Indices at, ir::Value value, SourceLocation where);
std::vector<ir::Value> view_origin(Indices first, const ir::Type &type, int rank,
                                   const std::vector<std::int64_t> &steps, const std::vector<int> &order,
                                   bool may_repeat, SourceLocation where);
// The type of a product with this element type. UserError if the factors do not have two or three dimensions each.
ir::Type product_type(const ir::Type &a, const ir::Type &b, bool transposed_a, bool transposed_b, ScalarType element,
                      SourceLocation where);

// The default type in which products of factors of type T are added up.
template <Scalar T>
using Accumulator = std::conditional_t<FloatingScalar<T> && sizeof(T) <= 2, float,
                                       std::conditional_t<std::integral<T> && sizeof(T) < 4, std::int32_t, T>>;

// The type of tile::sum: sums of small integers would soon wrap around in their own type.
template <Scalar T>
using SumOf = std::conditional_t<std::integral<T> && sizeof(T) < 4,
                                 std::conditional_t<std::signed_integral<T>, std::int32_t, std::uint32_t>, T>;
template <Scalar T>
ir::Value in_type_of_sum(ir::Value x, SourceLocation where) {
  if constexpr (std::same_as<SumOf<T>, T>)
    return x;
  else
    return record_on_tiles(ir::Op::Cast, scalar_type_of<SumOf<T>>, {std::move(x)}, where);
}

template <class T>
constexpr void refuse_read_only() {
  static_assert(!std::is_const_v<T>,
                "this array is read only: its parameter is Array<const T, Rank>; to store into it, declare the "
                "parameter Array<T, Rank>");
}

}  // namespace lang

namespace tile {

// How the factors of a product are read.
struct Transposes {
  bool a = false, b = false;
};
// The precision of products of floats: with `tf32`, tensor cores round the factors to 11 significant bits, and are many
// times faster.
enum class Precision : std::uint8_t { full, tf32 };

// The layout of a tile in an array: dimension d of the tile lies along dimension order[d] of the array's last ones,
// with steps[d] elements of the array from one element to the next. Empty `steps` are 1, and an empty `order` is the
// same order. With a step of 0, one element is loaded for all along the dimension.
struct View {
  std::vector<std::int64_t> steps = {};
  std::vector<int> order = {};
};

inline Int ceil_div(const Operand<std::int32_t> &a, std::int32_t b) {
  return Int::adopt(lang::record(ir::Op::Div, ScalarType::Int32,
                                 {lang::record(ir::Op::Add, ScalarType::Int32,
                                               {a.value(), ir::Value::constant(ScalarType::Int32, b - 1)}, a.where()),
                                  ir::Value::constant(ScalarType::Int32, b)},
                                 a.where()));
}

template <Scalar T>
Tile<T> full(TileExtents extents, const Operand<T> &value, SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::fill_tile(lang::tile_type(scalar_type_of<T>, extents, where), value.value(), where));
}
template <Scalar T>
Tile<T> zeros(TileExtents extents, SourceLocation where = std::source_location::current()) {
  return full<T>(extents, Operand<T>(T{}, where), where);
}

// Each element's own index along a dimension.
template <std::integral T = std::int32_t>
Tile<T> coordinate(TileExtents extents, int dimension, SourceLocation where = std::source_location::current()) {
  static_assert(sizeof(T) >= 4 && std::is_signed_v<T>, "coordinates are Int or Int64");
  const ir::Type type = lang::tile_type(scalar_type_of<T>, extents, where);
  return Tile<T>::adopt(
      lang::record_tile({ir::Op::Coordinate, type, {}, 0, lang::tile_dimension(dimension, type, where)}, where));
}
template <Scalar T>
Tile<T> ones(TileExtents extents, SourceLocation where = std::source_location::current()) {
  if constexpr (std::same_as<T, bool>)
    return full<T>(extents, Operand<T>(true, where), where);
  else
    return full<T>(extents, Operand<T>(1, where), where);
}
// With the extents of another tile.
template <Scalar T>
Tile<T> zeros_like(const Tile<T> &x, SourceLocation where = std::source_location::current()) {
  return Tile<T>::copy(ir::Value::zero(x.type()), where);
}
template <Scalar T>
Tile<T> full_like(const Tile<T> &x, const Operand<std::type_identity_t<T>> &value,
                  SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::fill_tile(x.type(), value.value(), where));
}
// 0, 1, 2, …
template <std::integral T = std::int32_t>
Tile<T> arange(std::int64_t count, SourceLocation where = std::source_location::current()) {
  return coordinate<T>({count}, 0, where);
}

template <class T, int Rank>
Tile<std::remove_const_t<T>> load(const Array<T, Rank> &array, lang::Indices number, TileExtents extents,
                                  SourceLocation where = std::source_location::current()) {
  const ir::Type type = lang::tile_type(scalar_type_of<T>, extents, where);
  return Tile<std::remove_const_t<T>>::adopt(
      lang::load_tile(array.index(where), lang::tile_origin(number, type, Rank, true, where), type, where));
}
template <class T, int Rank>
Tile<std::remove_const_t<T>> load_at(const Array<T, Rank> &array, lang::Indices first, TileExtents extents,
                                     SourceLocation where = std::source_location::current()) {
  const ir::Type type = lang::tile_type(scalar_type_of<T>, extents, where);
  return Tile<std::remove_const_t<T>>::adopt(
      lang::load_tile(array.index(where), lang::tile_origin(first, type, Rank, false, where), type, where));
}
template <class T, int Rank>
void store(const Array<T, Rank> &array, lang::Indices number, const Tile<std::remove_const_t<T>> &value,
           SourceLocation where = std::source_location::current()) {
  lang::refuse_read_only<T>();
  lang::store_tile(array.index(where), lang::tile_origin(number, value.type(), Rank, true, where), value.value(where),
                   where);
}
template <class T, int Rank>
void store_at(const Array<T, Rank> &array, lang::Indices first, const Tile<std::remove_const_t<T>> &value,
              SourceLocation where = std::source_location::current()) {
  lang::refuse_read_only<T>();
  lang::store_tile(array.index(where), lang::tile_origin(first, value.type(), Rank, false, where), value.value(where),
                   where);
}
// From element `first` on in the given view: every other row, or transposed. Elements outside read zero and are not
// stored.
//
//   Tile<float> even = tile::load_view(x, {0, 0}, {32, 64}, {.steps = {2, 1}});
//   Tile<float> turned = tile::load_view(x, {0, 0}, {64, 32}, {.order = {1, 0}});
template <class T, int Rank>
Tile<std::remove_const_t<T>> load_view(const Array<T, Rank> &array, lang::Indices first, TileExtents extents,
                                       const View &view, SourceLocation where = std::source_location::current()) {
  const ir::Type type = lang::tile_type(scalar_type_of<T>, extents, where);
  return Tile<std::remove_const_t<T>>::adopt(lang::load_tile(
      array.index(where), lang::view_origin(first, type, Rank, view.steps, view.order, true, where), type, where));
}
template <class T, int Rank>
void store_view(const Array<T, Rank> &array, lang::Indices first, const Tile<std::remove_const_t<T>> &value,
                const View &view, SourceLocation where = std::source_location::current()) {
  lang::refuse_read_only<T>();
  lang::store_tile(array.index(where),
                   lang::view_origin(first, value.type(), Rank, view.steps, view.order, false, where),
                   value.value(where), where);
}

// Elements at any indices: element e of the result is array(indices(e)), and zero if that is outside.
template <class T>
Tile<std::remove_const_t<T>> gather(const Array<T, 1> &array, const Tile<std::int32_t> &indices,
                                    SourceLocation where = std::source_location::current()) {
  const ir::Value index = indices.value(where);
  return Tile<std::remove_const_t<T>>::adopt(
      lang::load_tile(array.index(where), {index}, index.type().of(scalar_type_of<T>), where));
}
// The opposite: adds element e of the value to array(indices(e)); indices may repeat.
template <class T>
void scatter_add(const Array<T, 1> &array, const Tile<std::int32_t> &indices, const Tile<std::remove_const_t<T>> &value,
                 SourceLocation where = std::source_location::current()) {
  lang::refuse_read_only<T>();
  lang::add_tile(array.index(where), {indices.value(where)}, value.value(where), where);
}

// The sum of 8- and 16-bit integers has 32 bits.
template <Scalar T>
  requires(ArithmeticScalar<T>)
Traced<lang::SumOf<T>> sum(const Tile<T> &x, SourceLocation where = std::source_location::current()) {
  using S = lang::SumOf<T>;
  return Traced<S>::adopt(lang::reduce_tile(ir::Op::ReduceAdd, scalar_type_of<S>,
                                            lang::in_type_of_sum<T>(x.value(where), where), {}, where));
}
template <Scalar T>
  requires(ArithmeticScalar<T>)
Tile<lang::SumOf<T>> sum(const Tile<T> &x, lang::Dimensions along,
                         SourceLocation where = std::source_location::current()) {
  using S = lang::SumOf<T>;
  return Tile<S>::adopt(lang::reduce_tile(ir::Op::ReduceAdd, scalar_type_of<S>,
                                          lang::in_type_of_sum<T>(x.value(where), where), along, where));
}

#define SAMITE_TILE_REDUCTION(name, op)                                                                            \
  template <Scalar T>                                                                                              \
    requires(ArithmeticScalar<T>)                                                                                  \
  Traced<T> name(const Tile<T> &x, SourceLocation where = std::source_location::current()) {                       \
    return Traced<T>::adopt(lang::reduce_tile(ir::Op::op, scalar_type_of<T>, x.value(where), {}, where));          \
  }                                                                                                                \
  template <Scalar T>                                                                                              \
    requires(ArithmeticScalar<T>)                                                                                  \
  Tile<T> name(const Tile<T> &x, lang::Dimensions along, SourceLocation where = std::source_location::current()) { \
    return Tile<T>::adopt(lang::reduce_tile(ir::Op::op, scalar_type_of<T>, x.value(where), along, where));         \
  }
SAMITE_TILE_REDUCTION(product, ReduceMul)
SAMITE_TILE_REDUCTION(min, ReduceMin)  // prefers a number to NaN
SAMITE_TILE_REDUCTION(max, ReduceMax)
#undef SAMITE_TILE_REDUCTION

// The first position of the least or greatest element, row by row along the reduced dimensions.
#define SAMITE_TILE_REDUCTION(name, op)                                                                               \
  template <Scalar T>                                                                                                 \
    requires(ArithmeticScalar<T>)                                                                                     \
  Int name(const Tile<T> &x, SourceLocation where = std::source_location::current()) {                                \
    return Int::adopt(lang::reduce_tile(ir::Op::op, ScalarType::Int32, x.value(where), {}, where));                   \
  }                                                                                                                   \
  template <Scalar T>                                                                                                 \
    requires(ArithmeticScalar<T>)                                                                                     \
  Tile<std::int32_t> name(const Tile<T> &x, lang::Dimensions along,                                                   \
                          SourceLocation where = std::source_location::current()) {                                   \
    return Tile<std::int32_t>::adopt(lang::reduce_tile(ir::Op::op, ScalarType::Int32, x.value(where), along, where)); \
  }
SAMITE_TILE_REDUCTION(argmin, ReduceArgMin)
SAMITE_TILE_REDUCTION(argmax, ReduceArgMax)
#undef SAMITE_TILE_REDUCTION

// Repeats dimensions of extent 1.
template <Scalar T>
Tile<T> broadcast(const TileOperand<T> &x, TileExtents extents,
                  SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(
      lang::record_tile({ir::Op::Broadcast, lang::tile_type(scalar_type_of<T>, extents, where), {x.value()}}, where));
}
template <Scalar T>
Tile<T> reshape(const Tile<T> &x, TileExtents extents, SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::record_tile(
      {ir::Op::Reshape, lang::tile_type(scalar_type_of<T>, extents, where), {x.value(where)}}, where));
}
// Transposes a matrix, or permutes the dimensions.
template <Scalar T>
Tile<T> transpose(const Tile<T> &x, SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::transpose_tile(x.value(where), {1, 0}, where));
}
template <Scalar T>
Tile<T> transpose(const Tile<T> &x, lang::Dimensions order, SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::transpose_tile(x.value(where), order, where));
}
// `extents` elements from `begin` on, which may be traced; zero outside of the tile.
template <Scalar T>
Tile<T> slice(const Tile<T> &x, lang::Indices begin, TileExtents extents,
              SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::window_tile(x.value(where), begin, extents, where));
}
template <Scalar T>
Tile<T> concatenate(const Tile<T> &a, const Tile<T> &b, int dimension,
                    SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::concatenate_tiles(a.value(where), b.value(where), dimension, where));
}
// One element.
template <Scalar T>
Traced<T> extract(const Tile<T> &x, lang::Indices at, SourceLocation where = std::source_location::current()) {
  return Traced<T>::adopt(lang::element_of_tile(x.value(where), at, where));
}
// The tile with one element replaced by a number; unchanged if `at` is outside.
template <Scalar T>
Tile<T> insert(const Tile<T> &x, lang::Indices at, const Operand<std::type_identity_t<T>> &value,
               SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::insert_into_tile(x.value(where), at, value.value(), where));
}
using samite::cast;  // casts elements: tile::cast<float>(x)

// A B + C, for two matrices or, in three dimensions, for a batch of pairs. 8- and 16-bit types are added up in f32,
// integers of 8 and 16 bits in i32.
template <Scalar T, Scalar C>
void matmul(const Tile<T> &a, const Tile<T> &b, Tile<C> &sum, Transposes transposed, Precision precision,
            SourceLocation where = std::source_location::current()) {
  static_assert(
      (std::same_as<C, T> && ArithmeticScalar<T>) || std::same_as<C, lang::Accumulator<T>>,
      "matmul: factors of half and bfloat16 are added up in float or their own type, those of f8e4m3 and f8e5m2 "
      "in float, those of 8 and 16 bit integers in int32 or their own type, any other in their own type");
  lang::check_precision(precision == Precision::tf32, scalar_type_of<T>, where);
  sum = Tile<C>::adopt(lang::multiply_tiles(a.value(where), b.value(where), sum.value(where), transposed.a,
                                            transposed.b, precision == Precision::tf32, where));
}
template <Scalar T, Scalar C>
void matmul(const Tile<T> &a, const Tile<T> &b, Tile<C> &sum, Transposes transposed = {},
            SourceLocation where = std::source_location::current()) {
  matmul(a, b, sum, transposed, Precision::full, where);
}
template <Scalar T, Scalar C>
void matmul(const Tile<T> &a, const Tile<T> &b, Tile<C> &sum, Precision precision,
            SourceLocation where = std::source_location::current()) {
  matmul(a, b, sum, {}, precision, where);
}
template <Scalar T>
Tile<lang::Accumulator<T>> matmul(const Tile<T> &a, const Tile<T> &b, Transposes transposed = {},
                                  Precision precision = Precision::full,
                                  SourceLocation where = std::source_location::current()) {
  using C = lang::Accumulator<T>;
  lang::check_precision(precision == Precision::tf32, scalar_type_of<T>, where);
  const ir::Value left = a.value(where), right = b.value(where);
  const ir::Type type =
      lang::product_type(left.type(), right.type(), transposed.a, transposed.b, scalar_type_of<C>, where);
  return Tile<C>::adopt(lang::multiply_tiles(left, right, ir::Value::zero(type), transposed.a, transposed.b,
                                             precision == Precision::tf32, where));
}

}  // namespace tile

namespace lang {

// Factors of two types are cast to one that represents all numbers of both; void if there is none.
template <Scalar A, Scalar B>
struct CommonFactor {
  static constexpr bool floating_a = FloatingScalar<A>, floating_b = FloatingScalar<B>;
  static constexpr bool bytes = sizeof(A) == 1 && sizeof(B) == 1 && std::integral<A> == std::integral<B> &&
                                !std::same_as<A, bool> && !std::same_as<B, bool>;
  // 8 bits, floating or integer, with a floating type of at least 16.
  template <class Narrow, class Wide>
  static constexpr bool held =
      sizeof(Narrow) == 1 && !std::same_as<Narrow, bool> && FloatingScalar<Wide> && sizeof(Wide) > 1;
  using OfFloats = std::conditional_t<sizeof(A) == sizeof(B), float, std::conditional_t<(sizeof(A) > sizeof(B)), A, B>>;
  using type = std::conditional_t<
      bytes, std::conditional_t<floating_a, half, std::int16_t>,
      std::conditional_t<
          held<A, B>, B,
          std::conditional_t<held<B, A>, A, std::conditional_t<floating_a && floating_b, OfFloats, void>>>>;
};

template <Scalar T, Scalar From>
Tile<T> as_factor(const Tile<From> &x, SourceLocation where) {
  if constexpr (std::same_as<T, From>)
    return x;
  else
    return samite::cast<T>(x, where);
}

}  // namespace lang

namespace tile {

#define SAMITE_EXPECT_COMMON_FACTOR(A, B)                                                                          \
  static_assert(!std::same_as<typename lang::CommonFactor<A, B>::type, void>,                                      \
                "matmul: these two types of factors have no common one; tile::cast one of them. Integers of more " \
                "than 8 bits meet neither each other nor floating types")

// Factors of e4m3 and e5m2 combine in half, u8 and i8 in i16; 8 bits and a wider floating type in the wider type; half
// and bfloat16 in float; other floating types in the wider one. Products are added up as for factors of that type.
template <Scalar A, Scalar B, Scalar C>
  requires(!std::same_as<A, B>)
void matmul(const Tile<A> &a, const Tile<B> &b, Tile<C> &sum, Transposes transposed = {},
            SourceLocation where = std::source_location::current()) {
  SAMITE_EXPECT_COMMON_FACTOR(A, B);
  using T = typename lang::CommonFactor<A, B>::type;
  if constexpr (!std::same_as<T, void>)
    matmul(lang::as_factor<T>(a, where), lang::as_factor<T>(b, where), sum, transposed, where);
}
template <Scalar A, Scalar B>
  requires(!std::same_as<A, B>)
auto matmul(const Tile<A> &a, const Tile<B> &b, Transposes transposed = {},
            SourceLocation where = std::source_location::current()) {
  SAMITE_EXPECT_COMMON_FACTOR(A, B);
  using T = typename lang::CommonFactor<A, B>::type;
  if constexpr (!std::same_as<T, void>)
    return matmul(lang::as_factor<T>(a, where), lang::as_factor<T>(b, where), transposed, Precision::full, where);
}
#undef SAMITE_EXPECT_COMMON_FACTOR

// alpha A B + beta C, to C.
template <Scalar T, Scalar C>
void matmul(const Operand<std::type_identity_t<C>> &alpha, const Tile<T> &a, const Tile<T> &b,
            const Operand<std::type_identity_t<C>> &beta, Tile<C> &sum, Transposes transposed = {},
            SourceLocation where = std::source_location::current()) {
  static_assert(
      (std::same_as<C, T> && ArithmeticScalar<T>) || std::same_as<C, lang::Accumulator<T>>,
      "matmul: factors of half and bfloat16 are added up in float or their own type, those of f8e4m3 and f8e5m2 "
      "in float, those of 8 and 16 bit integers in int32 or their own type, any other in their own type");
  sum = Tile<C>::adopt(lang::scaled_product(alpha.value(), a.value(where), b.value(where), beta.value(),
                                            sum.value(where), transposed.a, transposed.b, where));
}

}  // namespace tile
}  // namespace samite
