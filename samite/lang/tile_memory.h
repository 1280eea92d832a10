// Masked loads and stores, gathers and scatters at tiles of indices, and atomic operations.
//
//   Tile<float> x = tile::load(a, {i, j}, {8, 64}, columns < n, -1.0f);   // -1 elsewhere, and outside of the array
//   tile::store(b, {i, j}, y, columns < n);                               // the others stay as they are
//   Tile<float> picked = tile::gather(a, {rows, columns});                // a(rows(e), columns(e)) for each element e
//   Tile<float> chosen = tile::gather_rows(table, tokens, {0}, {64});     // whole rows: 64 columns of each
//   Tile<std::int32_t> old = tile::atomic_max(best, {bins}, scores);      // the elements before
//   tile::atomic_add(c, {0, j}, turned, {.order = {1, 0}});               // through a view, as for load_view
//
// Masks and indices fit the tile as operands do: extents of 1 are repeated, and numbers combine with any tile. An
// element at an index outside of the array reads zero, and is not stored.
//
// If `scatter` stores several elements at one place, in one block or several, it is a race, as for all stores: any one
// of them stays, and the gradient is that of any one, not necessarily the same one. scatter_add and the atomic
// operations combine them all. Atomic operations have a gradient if they add and their result is unused; the others are
// refused if a gradient would pass through them.
#pragma once

#include "samite/lang/atomic.h"
#include "samite/lang/tile_operations.h"

#include <optional>
#include <vector>

namespace samite {
namespace lang {

template <class A>
concept TileOfIndices = std::same_as<A, Tile<std::int32_t>> || std::same_as<A, Tile<std::int64_t>>;

// The indices of elements, one for each dimension of an array: tiles, or numbers that apply to all elements.
class ElementIndices {
 public:
  template <class... A>
    requires(((TileOfIndices<A> || std::convertible_to<const A &, Index>) && ...) && (TileOfIndices<A> || ...))
  ElementIndices(const A &...indices) : values_{value_of(indices)...} {}
  const std::vector<ir::Value> &values() const { return values_; }

 private:
  template <class A>
  static ir::Value value_of(const A &index) {
    if constexpr (TileOfIndices<A>)
      return index.value(latest_location());
    else
      return Index(index).value();
  }

  std::vector<ir::Value> values_;
};

// The positions of elements in an array: an index for each dimension, as a tile if it differs between the elements.
struct ElementPlaces {
  std::vector<ir::Value> indices;
  ir::TileShape shape;
};
// UserError unless there is an index for each dimension, and all fit each other, the mask, and the elements of `value`
// if given.
ElementPlaces element_places(const ElementIndices &indices, int rank, const ir::Value *mask, const ir::Value *value,
                             SourceLocation where);
// The positions of rows along the first dimension, and of a tile along the others.
ElementPlaces row_places(const ir::Value &rows, Indices number, const std::vector<std::int64_t> &extents, int rank,
                         SourceLocation where);
// The positions of a tile given by its number (`cut`) or first element, outside of the array where the mask is false.
std::vector<ir::Value> places_under_mask(Indices indices, const ir::Type &type, int rank, bool cut,
                                         const ir::Value &mask, SourceLocation where);
// `other` in place of elements that are outside of the array or where the mask is false.
ir::Value with_other(const ir::Value &loaded, std::uint32_t array, const std::vector<ir::Value> &origin,
                     const ir::Value *mask, const ir::Value &other, SourceLocation where);
// `other` where the mask is false; the masked load gave zero there.
ir::Value where_masked(const ir::Value &loaded, const ir::Value &mask, const ir::Value &other, SourceLocation where);
// UserError unless the value is a number, or a tile that fits the places.
ir::Value value_for(const ElementPlaces &places, const ir::Value &value, SourceLocation where);
ir::Value atomic_on_tiles(ir::Op op, std::uint32_t array, const ElementPlaces &places,
                          const std::vector<ir::Value> &values, SourceLocation where);
ir::Value atomic_at(ir::Op op, std::uint32_t array, int rank, const ElementIndices &indices,
                    const std::vector<ir::Value> &values, const std::optional<Tile<bool>> &mask, SourceLocation where);

}  // namespace lang

namespace tile {

// Elements outside of the array, or where the mask is false, are `other`.
template <class T, int Rank>
Tile<std::remove_const_t<T>> load(const Array<T, Rank> &array, lang::Indices number, TileExtents extents,
                                  const Tile<bool> &mask,
                                  const Operand<std::remove_const_t<T>> &other = std::remove_const_t<T>{},
                                  SourceLocation where = std::source_location::current()) {
  const ir::Type type = lang::tile_type(scalar_type_of<T>, extents, where);
  const std::vector<ir::Value> origin = lang::tile_origin(number, type, Rank, true, where);
  const ir::Value loaded = lang::load_tile(array.index(where), origin, type, where), chosen = mask.value(where);
  return Tile<std::remove_const_t<T>>::adopt(
      lang::with_other(loaded, array.index(where), origin, &chosen, other.value(), where));
}
template <class T, int Rank>
Tile<std::remove_const_t<T>> load_at(const Array<T, Rank> &array, lang::Indices first, TileExtents extents,
                                     const Tile<bool> &mask,
                                     const Operand<std::remove_const_t<T>> &other = std::remove_const_t<T>{},
                                     SourceLocation where = std::source_location::current()) {
  const ir::Type type = lang::tile_type(scalar_type_of<T>, extents, where);
  const std::vector<ir::Value> origin = lang::tile_origin(first, type, Rank, false, where);
  const ir::Value loaded = lang::load_tile(array.index(where), origin, type, where), chosen = mask.value(where);
  return Tile<std::remove_const_t<T>>::adopt(
      lang::with_other(loaded, array.index(where), origin, &chosen, other.value(), where));
}
// Elements outside of the array are `other`.
template <class T, int Rank>
Tile<std::remove_const_t<T>> load_at(const Array<T, Rank> &array, lang::Indices first, TileExtents extents,
                                     const Operand<std::remove_const_t<T>> &other,
                                     SourceLocation where = std::source_location::current()) {
  const ir::Type type = lang::tile_type(scalar_type_of<T>, extents, where);
  const std::vector<ir::Value> origin = lang::tile_origin(first, type, Rank, false, where);
  const ir::Value loaded = lang::load_tile(array.index(where), origin, type, where);
  return Tile<std::remove_const_t<T>>::adopt(
      lang::with_other(loaded, array.index(where), origin, nullptr, other.value(), where));
}
template <class T, int Rank>
Tile<std::remove_const_t<T>> load(const Array<T, Rank> &array, lang::Indices number, TileExtents extents,
                                  const Operand<std::remove_const_t<T>> &other,
                                  SourceLocation where = std::source_location::current()) {
  const ir::Type type = lang::tile_type(scalar_type_of<T>, extents, where);
  const std::vector<ir::Value> origin = lang::tile_origin(number, type, Rank, true, where);
  const ir::Value loaded = lang::load_tile(array.index(where), origin, type, where);
  return Tile<std::remove_const_t<T>>::adopt(
      lang::with_other(loaded, array.index(where), origin, nullptr, other.value(), where));
}

// Only the elements where the mask is true.
template <class T, int Rank>
void store(const Array<T, Rank> &array, lang::Indices number, const Tile<std::remove_const_t<T>> &value,
           const Tile<bool> &mask, SourceLocation where = std::source_location::current()) {
  lang::refuse_read_only<T>();
  lang::store_tile(array.index(where),
                   lang::places_under_mask(number, value.type(), Rank, true, mask.value(where), where),
                   value.value(where), where);
}
template <class T, int Rank>
void store_at(const Array<T, Rank> &array, lang::Indices first, const Tile<std::remove_const_t<T>> &value,
              const Tile<bool> &mask, SourceLocation where = std::source_location::current()) {
  lang::refuse_read_only<T>();
  lang::store_tile(array.index(where),
                   lang::places_under_mask(first, value.type(), Rank, false, mask.value(where), where),
                   value.value(where), where);
}

// Elements at any indices: element e of the result is array(indices(e)), and zero if that is outside.
template <class T, int Rank>
Tile<std::remove_const_t<T>> gather(const Array<T, Rank> &array, const lang::ElementIndices &indices,
                                    SourceLocation where = std::source_location::current()) {
  const lang::ElementPlaces places = lang::element_places(indices, Rank, nullptr, nullptr, where);
  const ir::Type type(scalar_type_of<T>, places.shape);
  return Tile<std::remove_const_t<T>>::adopt(lang::load_tile(array.index(where), places.indices, type, where));
}
// The same, with `other` where the mask is false.
template <class T, int Rank>
Tile<std::remove_const_t<T>> gather(const Array<T, Rank> &array, const lang::ElementIndices &indices,
                                    const Tile<bool> &mask,
                                    const Operand<std::remove_const_t<T>> &other = std::remove_const_t<T>{},
                                    SourceLocation where = std::source_location::current()) {
  const ir::Value chosen = mask.value(where);
  const lang::ElementPlaces places = lang::element_places(indices, Rank, &chosen, nullptr, where);
  const ir::Type type(scalar_type_of<T>, places.shape);
  const ir::Value loaded = lang::load_tile(array.index(where), places.indices, type, where);
  return Tile<std::remove_const_t<T>>::adopt(lang::where_masked(loaded, chosen, other.value(), where));
}
// The opposite: array(indices(e)) becomes element e of the value.
template <class T, int Rank>
void scatter(const Array<T, Rank> &array, const lang::ElementIndices &indices,
             const TileOperand<std::remove_const_t<T>> &value, SourceLocation where = std::source_location::current()) {
  lang::refuse_read_only<T>();
  const ir::Value stored = value.value();
  const lang::ElementPlaces places = lang::element_places(indices, Rank, nullptr, &stored, where);
  lang::store_tile(array.index(where), places.indices, lang::value_for(places, stored, where), where);
}
template <class T, int Rank>
void scatter(const Array<T, Rank> &array, const lang::ElementIndices &indices,
             const TileOperand<std::remove_const_t<T>> &value, const Tile<bool> &mask,
             SourceLocation where = std::source_location::current()) {
  lang::refuse_read_only<T>();
  const ir::Value stored = value.value(), chosen = mask.value(where);
  const lang::ElementPlaces places = lang::element_places(indices, Rank, &chosen, &stored, where);
  lang::store_tile(array.index(where), places.indices, lang::value_for(places, stored, where), where);
}
// If several elements have one index, all of them are added.
template <class T, int Rank>
void scatter_add(const Array<T, Rank> &array, const lang::ElementIndices &indices,
                 const TileOperand<std::remove_const_t<T>> &value,
                 SourceLocation where = std::source_location::current()) {
  lang::refuse_read_only<T>();
  const ir::Value added = value.value();
  const lang::ElementPlaces places = lang::element_places(indices, Rank, nullptr, &added, where);
  lang::add_tile(array.index(where), places.indices, lang::value_for(places, added, where), where);
}
template <class T, int Rank>
void scatter_add(const Array<T, Rank> &array, const lang::ElementIndices &indices,
                 const TileOperand<std::remove_const_t<T>> &value, const Tile<bool> &mask,
                 SourceLocation where = std::source_location::current()) {
  lang::refuse_read_only<T>();
  const ir::Value added = value.value(), chosen = mask.value(where);
  const lang::ElementPlaces places = lang::element_places(indices, Rank, &chosen, &added, where);
  lang::add_tile(array.index(where), places.indices, lang::value_for(places, added, where), where);
}

// Whole rows: row e of the result is tile `number`, with these extents, of array(rows(e))'s other dimensions.
//
//   Tile<float> x = tile::gather_rows(table, tokens, {0}, {64});   // of an Array<…, 2>: tokens.extent(0) × 64
template <class T, int Rank, class I>
  requires(Rank >= 2)
Tile<std::remove_const_t<T>> gather_rows(const Array<T, Rank> &array, const Tile<I> &rows, lang::Indices number,
                                         TileExtents extents, SourceLocation where = std::source_location::current()) {
  const lang::ElementPlaces places =
      lang::row_places(rows.value(where), number, {extents.begin(), extents.end()}, Rank, where);
  const ir::Type type(scalar_type_of<T>, places.shape);
  return Tile<std::remove_const_t<T>>::adopt(lang::load_tile(array.index(where), places.indices, type, where));
}
template <class T, int Rank, class I>
  requires(Rank >= 2)
void scatter_rows(const Array<T, Rank> &array, const Tile<I> &rows, lang::Indices number,
                  const Tile<std::remove_const_t<T>> &value, SourceLocation where = std::source_location::current()) {
  lang::refuse_read_only<T>();
  const ir::TileShape shape = value.type().shape();
  const lang::ElementPlaces places =
      lang::row_places(rows.value(where), number, {shape.begin() + 1, shape.end()}, Rank, where);
  lang::store_tile(array.index(where), places.indices, lang::value_for(places, value.value(where), where), where);
}
template <class T, int Rank, class I>
  requires(Rank >= 2)
void scatter_add_rows(const Array<T, Rank> &array, const Tile<I> &rows, lang::Indices number,
                      const Tile<std::remove_const_t<T>> &value,
                      SourceLocation where = std::source_location::current()) {
  lang::refuse_read_only<T>();
  const ir::TileShape shape = value.type().shape();
  const lang::ElementPlaces places =
      lang::row_places(rows.value(where), number, {shape.begin() + 1, shape.end()}, Rank, where);
  lang::add_tile(array.index(where), places.indices, lang::value_for(places, value.value(where), where), where);
}

// Atomic operations on the elements of tile `number` of the array, on those from element `first` on in a view, or at
// tiles of indices, where the optional mask is true. They return the previous elements, and zero for those that are
// outside or masked.
#define SAMITE_TILE_ATOMIC(name, op, condition, expected)                                                          \
  template <class T, int Rank>                                                                                     \
  Tile<std::remove_const_t<T>> name(const Array<T, Rank> &array, lang::Indices number,                             \
                                    const Tile<std::remove_const_t<T>> &value,                                     \
                                    SourceLocation where = std::source_location::current()) {                      \
    static_assert(condition<std::remove_const_t<T>>, "tile::" #name " is for arrays of " expected);                \
    lang::refuse_read_only<T>();                                                                                   \
    return Tile<std::remove_const_t<T>>::adopt(                                                                    \
        lang::atomic_on_tiles(ir::Op::op, array.index(where),                                                      \
                              {lang::tile_origin(number, value.type(), Rank, true, where), value.type().shape()},  \
                              {value.value(where)}, where));                                                       \
  }                                                                                                                \
  template <class T, int Rank>                                                                                     \
  Tile<std::remove_const_t<T>> name(const Array<T, Rank> &array, lang::Indices first,                              \
                                    const Tile<std::remove_const_t<T>> &value, const View &view,                   \
                                    SourceLocation where = std::source_location::current()) {                      \
    static_assert(condition<std::remove_const_t<T>>, "tile::" #name " is for arrays of " expected);                \
    lang::refuse_read_only<T>();                                                                                   \
    return Tile<std::remove_const_t<T>>::adopt(lang::atomic_on_tiles(                                              \
        ir::Op::op, array.index(where),                                                                            \
        {lang::view_origin(first, value.type(), Rank, view.steps, view.order, true, where), value.type().shape()}, \
        {value.value(where)}, where));                                                                             \
  }                                                                                                                \
  template <class T, int Rank>                                                                                     \
  Tile<std::remove_const_t<T>> name(const Array<T, Rank> &array, const lang::ElementIndices &indices,              \
                                    const TileOperand<std::remove_const_t<T>> &value,                              \
                                    const std::optional<Tile<bool>> &mask = std::nullopt,                          \
                                    SourceLocation where = std::source_location::current()) {                      \
    static_assert(condition<std::remove_const_t<T>>, "tile::" #name " is for arrays of " expected);                \
    lang::refuse_read_only<T>();                                                                                   \
    return Tile<std::remove_const_t<T>>::adopt(                                                                    \
        lang::atomic_at(ir::Op::op, array.index(where), Rank, indices, {value.value()}, mask, where));             \
  }
SAMITE_TILE_ATOMIC(atomic_add, AtomicAdd, lang::adds_up, "numbers, not of bool")
SAMITE_TILE_ATOMIC(atomic_min, AtomicMin, lang::adds_up, "numbers, not of bool")
SAMITE_TILE_ATOMIC(atomic_max, AtomicMax, lang::adds_up, "numbers, not of bool")
SAMITE_TILE_ATOMIC(atomic_and, AtomicAnd, lang::has_bits, "integers or bool")
SAMITE_TILE_ATOMIC(atomic_or, AtomicOr, lang::has_bits, "integers or bool")
SAMITE_TILE_ATOMIC(atomic_xor, AtomicXor, lang::has_bits, "integers or bool")
SAMITE_TILE_ATOMIC(atomic_exchange, AtomicExchange, lang::any_scalar, "scalars")
#undef SAMITE_TILE_ATOMIC
// Stores the value if the element has the bits of `expected`.
template <class T, int Rank>
Tile<std::remove_const_t<T>> atomic_compare_exchange(const Array<T, Rank> &array, const lang::ElementIndices &indices,
                                                     const TileOperand<std::remove_const_t<T>> &expected,
                                                     const TileOperand<std::remove_const_t<T>> &value,
                                                     const std::optional<Tile<bool>> &mask = std::nullopt,
                                                     SourceLocation where = std::source_location::current()) {
  lang::refuse_read_only<T>();
  return Tile<std::remove_const_t<T>>::adopt(lang::atomic_at(ir::Op::AtomicCompareExchange, array.index(where), Rank,
                                                             indices, {expected.value(), value.value()}, mask, where));
}

}  // namespace tile
}  // namespace samite
