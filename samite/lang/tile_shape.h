// Changes of a tile's shape. Dimensions are counted from 0, or from the last one backwards if negative.
//
//   Tile<float> pairs = tile::stack(real, imaginary, -1);        // 8x16 and 8x16 become 8x16x2
//   auto halves = tile::split(x, 2, 1);                          // halves[0], halves[1]
//   Tile<float> wider = tile::pad(x, {0, 1}, {0, 1}, -1.0f);     // a column before, a column after
#pragma once

#include "samite/lang/tile_operations.h"

#include <optional>
#include <vector>

namespace samite {
namespace lang {

ir::Value expand_tile(const ir::Value &x, int dimension, SourceLocation where);
// Removes one dimension, whose extent is 1; or all of them, if `dimension` is empty.
ir::Value squeeze_tile(const ir::Value &x, std::optional<int> dimension, SourceLocation where);
ir::Value flip_tile(const ir::Value &x, int dimension, SourceLocation where);
ir::Value roll_tile(const ir::Value &x, const Index &by, int dimension, SourceLocation where);
ir::Value pad_tile(const ir::Value &x, std::initializer_list<int> before, std::initializer_list<int> after,
                   const ir::Value &value, SourceLocation where);
ir::Value repeat_tile(const ir::Value &x, int times, int dimension, bool each, SourceLocation where);
std::vector<ir::Value> split_tile(const ir::Value &x, int parts, int dimension, SourceLocation where);

// UserError unless there is one, and all have the same type.
ir::Value stack_tiles(const std::vector<ir::Value> &tiles, int dimension, SourceLocation where);

}  // namespace lang

namespace tile {

// Inserts a dimension of extent 1 before the given one; -1 means after the last.
template <Scalar T>
Tile<T> expand_dims(const Tile<T> &x, int dimension, SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::expand_tile(x.value(where), dimension, where));
}
// Removes dimensions of extent 1: the given one, or all.
template <Scalar T>
Tile<T> squeeze(const Tile<T> &x, int dimension, SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::squeeze_tile(x.value(where), dimension, where));
}
template <Scalar T>
Tile<T> squeeze(const Tile<T> &x, SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::squeeze_tile(x.value(where), std::nullopt, where));
}
// Permutes the dimensions: dimension d of the result is order[d] of x.
template <Scalar T>
Tile<T> permute(const Tile<T> &x, lang::Dimensions order, SourceLocation where = std::source_location::current()) {
  return transpose(x, order, where);
}
// Reverses the elements along the dimension.
template <Scalar T>
Tile<T> flip(const Tile<T> &x, int dimension, SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::flip_tile(x.value(where), dimension, where));
}
// Moves element i along the dimension to i + by; elements beyond the last wrap to the front. `by` may be traced.
template <Scalar T>
Tile<T> roll(const Tile<T> &x, const Index &by, int dimension, SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::roll_tile(x.value(where), by, dimension, where));
}
// Adds this many elements of `value` before and after each dimension's own.
template <Scalar T>
Tile<T> pad(const Tile<T> &x, std::initializer_list<int> before, std::initializer_list<int> after,
            const Operand<std::type_identity_t<T>> &value, SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::pad_tile(x.value(where), before, after, value.value(), where));
}
template <Scalar T>
Tile<T> pad(const Tile<T> &x, std::initializer_list<int> before, std::initializer_list<int> after,
            SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::pad_tile(x.value(where), before, after, ir::Value::zero(scalar_type_of<T>), where));
}
// Repeats the whole tile along a dimension: a b becomes a b a b.
template <Scalar T>
Tile<T> repeat(const Tile<T> &x, int times, int dimension, SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::repeat_tile(x.value(where), times, dimension, false, where));
}
// Repeats each element: a b becomes a a b b.
template <Scalar T>
Tile<T> repeat_interleave(const Tile<T> &x, int times, int dimension,
                          SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::repeat_tile(x.value(where), times, dimension, true, where));
}
// Equal parts along a dimension.
template <Scalar T>
std::vector<Tile<T>> split(const Tile<T> &x, int parts, int dimension,
                           SourceLocation where = std::source_location::current()) {
  std::vector<Tile<T>> tiles;
  for (const ir::Value &part : lang::split_tile(x.value(where), parts, dimension, where))
    tiles.push_back(Tile<T>::adopt(part));
  return tiles;
}
// Joins tiles of equal extents along a new dimension.
template <Scalar T>
Tile<T> stack(const std::vector<Tile<T>> &tiles, int dimension = 0,
              SourceLocation where = std::source_location::current()) {
  std::vector<ir::Value> values;
  for (const Tile<T> &tile : tiles) values.push_back(tile.value(where));
  return Tile<T>::adopt(lang::stack_tiles(values, dimension, where));
}
template <Scalar T>
Tile<T> stack(const Tile<T> &a, const Tile<T> &b, int dimension = 0,
              SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::stack_tiles({a.value(where), b.value(where)}, dimension, where));
}

}  // namespace tile
}  // namespace samite
