// Sorts the rows of tiles along the last dimension.
//
//   auto [keys, values] = tile::sort(k, v);                             // both in the order of the keys
//   Tile<std::int32_t> order = tile::argsort(k, {.descending = true});  // where each element comes from
//   Tile<float> best = tile::take(v, tile::slice(order, {0, 0}, {8, 3}));
//   Tile<std::int32_t> counts = tile::histogram(bins, 16);              // how many elements of each row are 0, 1, …,
//   15
//
// Sorting is stable: equal keys stay in their order, in either direction. NaN comes last, in either direction. Rows
// have any length; keys have any type but bool. Gradients go back to the original positions of the elements.
#pragma once

#include "samite/lang/tile.h"

namespace samite {
namespace tile {

struct SortOptions {
  bool descending = false;
  // For non-negative integers in ascending order: only this many lowest bits may be set. Keys of up to 8 bits are
  // sorted by counting, which takes less time than comparing. 0 allows any keys.
  int bits = 0;
};

template <Scalar K, Scalar V>
struct Sorted {
  Tile<K> keys;
  Tile<V> values;
};

}  // namespace tile

namespace lang {

// UserError if bits are given for other keys.
ir::Value sort_order_of_tile(ir::Value keys, tile::SortOptions options, SourceLocation where);
ir::Value histogram_of_tile(ir::Value places, int bins, SourceLocation where);
// UserError if the extents before the last one differ.
ir::Value take_of_tile(ir::Value x, ir::Value places, SourceLocation where);
// UserError if rows have fewer elements.
ir::Value first_of_rows(ir::Value x, int count, SourceLocation where);
// UserError unless there is one value for each key.
void check_values_of_keys(const ir::Type &keys, const ir::Type &values, SourceLocation where);

}  // namespace lang

namespace tile {

template <Scalar K>
  requires(!std::same_as<K, bool>)
Tile<std::int32_t> argsort(const Tile<K> &keys, SortOptions options = {},
                           SourceLocation where = std::source_location::current()) {
  return Tile<std::int32_t>::adopt(lang::sort_order_of_tile(keys.value(where), options, where));
}

// Element [.., i] is x[.., places[.., i]], and zero if that is outside. There may be more places than elements, and
// places may repeat.
template <Scalar T>
Tile<T> take(const Tile<T> &x, const Tile<std::int32_t> &places,
             SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::take_of_tile(x.value(where), places.value(where), where));
}

template <Scalar K>
  requires(!std::same_as<K, bool>)
Tile<K> sort(const Tile<K> &keys, SortOptions options = {}, SourceLocation where = std::source_location::current()) {
  return take(keys, argsort(keys, options, where), where);
}
template <Scalar K, Scalar V>
  requires(!std::same_as<K, bool>)
Sorted<K, V> sort(const Tile<K> &keys, const Tile<V> &values, SortOptions options = {},
                  SourceLocation where = std::source_location::current()) {
  lang::check_values_of_keys(keys.type(), values.type(), where);
  const Tile<std::int32_t> order = argsort(keys, options, where);
  return {take(keys, order, where), take(values, order, where)};
}

// How many elements of each row are 0, 1, …, bins - 1; others are not counted.
template <class I>
  requires(std::same_as<I, std::int32_t>)
Tile<std::int32_t> histogram(const Tile<I> &places, int bins, SourceLocation where = std::source_location::current()) {
  return Tile<std::int32_t>::adopt(lang::histogram_of_tile(places.value(where), bins, where));
}

// The greatest elements of each row, greatest first, and their positions; or the least ones.
//
//   auto [best, where] = tile::topk(scores, 4);
template <Scalar K>
  requires(!std::same_as<K, bool>)
Sorted<K, std::int32_t> topk(const Tile<K> &x, int count, SortOptions options = {.descending = true},
                             SourceLocation where = std::source_location::current()) {
  const Tile<std::int32_t> first =
      Tile<std::int32_t>::adopt(lang::first_of_rows(argsort(x, options, where).value(where), count, where));
  return {take(x, first, where), first};
}

}  // namespace tile
}  // namespace samite
