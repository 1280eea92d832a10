// Scans of tiles: they combine each element with all before it along a dimension.
//
//   Tile<float> sums = tile::inclusive_scan(x, 1);                                    // x[0], x[0] + x[1], …
//   Tile<float> before = tile::exclusive_scan(x, 1);                                  // 0, x[0], x[0] + x[1], …
//   Tile<float> top = tile::inclusive_scan(x, 0, {.combine = tile::Combine::max});
//   Tile<float> y = tile::linear_recurrence(a, b, 1);                                 // y[i] = a[i] y[i - 1] + b[i]
//
// An exclusive scan begins with 0 (add), 1 (multiply), the greatest number of the type or infinity (min), or the least
// one (max). 16-bit floating types are added up in float and rounded to be stored. CUDA combines the elements as a
// tree, the CPU one after another, so that the last digits may differ.
//
// All have a gradient: that of a product is right even at zeros, and min and max pass it to the first element that is
// the least or greatest; between a number and a NaN they take the number.
#pragma once

#include "samite/lang/tile.h"

namespace samite {
namespace tile {

enum class Combine : std::uint8_t { sum, product, min, max };

struct ScanOptions {
  Combine combine = Combine::sum;
  bool backwards = false;  // from the last element to the first
};

}  // namespace tile

namespace lang {

// UserError if the tiles lack the dimension, or differ in their extents.
ir::Value scan_tile(ir::Value x, int dimension, tile::ScanOptions options, bool exclusive, SourceLocation where);
ir::Value recur_tile(ir::Value a, ir::Value b, int dimension, bool backwards, SourceLocation where);

}  // namespace lang

namespace tile {

template <Scalar T>
  requires(ArithmeticScalar<T>)
Tile<T> inclusive_scan(const Tile<T> &x, int dimension, ScanOptions options = {},
                       SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::scan_tile(x.value(where), dimension, options, false, where));
}
template <Scalar T>
  requires(ArithmeticScalar<T>)
Tile<T> exclusive_scan(const Tile<T> &x, int dimension, ScanOptions options = {},
                       SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::scan_tile(x.value(where), dimension, options, true, where));
}

// y[i] = a[i] y[i - 1] + b[i], starting with b[0]; `backwards` starts with the last element and uses y[i + 1].
template <Scalar T>
  requires(ArithmeticScalar<T>)
Tile<T> linear_recurrence(const Tile<T> &a, const Tile<T> &b, int dimension, bool backwards = false,
                          SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::recur_tile(a.value(where), b.value(where), dimension, backwards, where));
}

}  // namespace tile
}  // namespace samite
