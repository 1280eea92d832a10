// Factorizations of symmetric matrices, and solutions of triangular systems.
//
//   Tile<double> l = tile::cholesky(a);                                                 // a = l lᵀ
//   Tile<double> y = tile::solve_triangular(l, b);                                      // l y = b
//   Tile<double> x = tile::solve_triangular(l, y, {.transposed = true});                // lᵀ x = y, so that a x = b
//
// Matrices are float or double, and two-dimensional; a three-dimensional tile is a batch of them along its first
// dimension. Only the lower half of a symmetric matrix is read, and it gets the whole gradient; likewise the given half
// of a triangular matrix. If a matrix is not positive definite (in the type's precision), the first column that shows
// it is NaN from the diagonal on, and so are all columns to the right. A zero on a triangular matrix's diagonal is
// divided by, giving infinity or NaN.
//
// Gradients: I. Murray, Differentiation of the Cholesky decomposition (2016), and M. Giles, Collected matrix derivative
// results (2008); see autodiff/tile_algebra_rules.h.
#pragma once

#include "samite/lang/tile.h"

namespace samite {
namespace tile {

struct Triangle {
  bool upper = false;       // which half of the matrix is given
  bool transposed = false;  // solves with the transpose
};

}  // namespace tile

namespace lang {

// UserError if the matrices do not fit each other, or are neither float nor double.
ir::Value cholesky_tile(ir::Value a, SourceLocation where);
ir::Value solve_tile(ir::Value a, ir::Value b, tile::Triangle triangle, SourceLocation where);

}  // namespace lang

namespace tile {

// The lower factor, with zeros above its diagonal.
template <Scalar T>
Tile<T> cholesky(const Tile<T> &a, SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::cholesky_tile(a.value(where), where));
}

// X in A X = B. B has a column for each system; for a single system it has one dimension fewer than A.
template <Scalar T>
Tile<T> solve_triangular(const Tile<T> &a, const Tile<T> &b, Triangle triangle = {},
                         SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::solve_tile(a.value(where), b.value(where), triangle, where));
}

// X in A X = B for a matrix with Cholesky factor L.
template <Scalar T>
Tile<T> solve_cholesky(const Tile<T> &l, const Tile<T> &b, SourceLocation where = std::source_location::current()) {
  return solve_triangular(l, solve_triangular(l, b, {}, where), {.transposed = true}, where);
}

}  // namespace tile
}  // namespace samite
