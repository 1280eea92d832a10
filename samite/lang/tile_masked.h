// Masked stores of tiles, and tiles that are added to a gradient.
//
//   Tile<bool> mine = tile::coordinate({64, 1}, 0) < height;
//   tile::store_where(c, {first, 0}, mine, values);   // of the rows that are mine
#pragma once

#include "samite/lang/tile_operations.h"

#include <vector>

namespace samite {
namespace lang {

// The positions of a tile's elements: an index tile for each dimension of the array that the tile lies along, outside
// of the array where the mask is false.
std::vector<ir::Value> masked_origin(Indices first, const ir::Type &type, int rank, ir::Value mask,
                                     SourceLocation where);
// Only in the adjoint of a custom_adjoint.
void add_tile_to_gradient(std::uint32_t array, std::vector<ir::Value> indices, ir::Value value, SourceLocation where);

}  // namespace lang

namespace tile {

// Like store_at, but only the elements where the mask is true. The mask's extents fit the tile's as operands' do.
template <class T, int Rank>
void store_where(const Array<T, Rank> &array, lang::Indices first, const Tile<bool> &mask,
                 const Tile<std::remove_const_t<T>> &value, SourceLocation where = std::source_location::current()) {
  lang::refuse_read_only<T>();
  lang::store_tile(array.index(where), lang::masked_origin(first, value.type(), Rank, mask.value(where), where),
                   value.value(where), where);
}

}  // namespace tile
}  // namespace samite
