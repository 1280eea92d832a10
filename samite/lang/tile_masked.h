// Stores of some elements of a tile, and tiles that are added to a gradient.
//
//   Tile<bool> mine = tile::coordinate({64, 1}, 0) < height;
//   tile::store_where(c, {first, 0}, mine, values);   // of the rows that are mine
#pragma once

#include "samite/lang/tile_operations.h"

#include <vector>

namespace samite {
namespace lang {

// Where the elements of a tile lie, an index tile for each dimension of the array that it lies along: outside of the
// array where the mask is false.
std::vector<ir::Value> masked_origin(Indices first, const ir::Type &type, int rank, ir::Value mask,
                                     SourceLocation where);
// In the adjoint of a custom adjoint alone.
void add_tile_to_gradient(std::uint32_t array, std::vector<ir::Value> indices, ir::Value value, SourceLocation where);

}  // namespace lang

namespace tile {

// As store_at, of the elements where the mask is true. It fits the tile as an operand does.
template <class T, int Rank>
void store_where(const Array<T, Rank> &array, lang::Indices first, const Tile<bool> &mask,
                 const Tile<std::remove_const_t<T>> &value, SourceLocation where = std::source_location::current()) {
  lang::refuse_read_only<T>();
  lang::store_tile(array.index(where), lang::masked_origin(first, value.type(), Rank, mask.value(where), where),
                   value.value(where), where);
}

}  // namespace tile
}  // namespace samite
