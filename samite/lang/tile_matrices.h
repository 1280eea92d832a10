// Small square matrices in tiles: determinants, inverses, solutions and decompositions.
//
//   Tile<float> x = tile::solve(a, b);                           // a: 64x3x3, b: 64x3
//   auto [values, vectors] = tile::symmetric_eigen(stiffness);   // 64x3x3: values 64x3, vectors 64x3x3
//   auto [u, sizes, v] = tile::svd(gradient);
//
// A matrix has f32 or f64 elements. A two-dimensional tile is one matrix, a three-dimensional tile a batch of matrices
// along its first dimension. Threads compute whole matrices, one each, by the functions of the same names for matrices
// in a Kernel (lang/algebra/); these headers state the methods, the accuracy, the gradients, and the results for
// singular matrices. For larger symmetric matrices there are cholesky and solve_cholesky (lang/tile_algebra.h).
//
// UserError for other extents, for other types, and for more rows than a function supports.
#pragma once

#include "samite/lang/tile_operations.h"

#include <vector>

namespace samite {
namespace lang {

enum class MatrixFunction : std::uint8_t { determinant, inverse, qr, symmetric_eigen, svd };

// The results of the function, in the order in which the scalar function's struct has them.
std::vector<ir::Value> function_of_matrices(MatrixFunction function, const ir::Value &a, SourceLocation where);
// The right-hand sides `b` of systems with the matrices `a` as columns, and solutions in that form as `b` has them.
ir::Value columns_of_systems(const ir::Value &a, const ir::Value &b, SourceLocation where);
ir::Value solutions_like(const ir::Value &b, const ir::Value &columns, SourceLocation where);

}  // namespace lang

namespace tile {

template <Scalar T>
struct QR {
  Tile<T> q, r;
};
template <Scalar T>
struct SymmetricEigen {
  Tile<T> values, vectors;
};
template <Scalar T>
struct SingularValues {
  Tile<T> u, values, v;
};

// One number for each matrix: of extents {m}, or {1} for one matrix. Up to 6x6.
template <FloatingScalar T>
Tile<T> determinant(const Tile<T> &a, SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::function_of_matrices(lang::MatrixFunction::determinant, a.value(where), where)[0]);
}

// Up to 6x6. The inverse of a singular matrix consists of infinities and NaNs.
template <FloatingScalar T>
Tile<T> inverse(const Tile<T> &a, SourceLocation where = std::source_location::current()) {
  return Tile<T>::adopt(lang::function_of_matrices(lang::MatrixFunction::inverse, a.value(where), where)[0]);
}

// X of A X = B, by the inverse of A, up to 6x6. B has a column for each system, or one dimension fewer than A for one
// system.
template <FloatingScalar T>
Tile<T> solve(const Tile<T> &a, const Tile<T> &b, SourceLocation where = std::source_location::current()) {
  const Tile<T> columns = Tile<T>::adopt(lang::columns_of_systems(a.value(where), b.value(where), where));
  const Tile<T> x = matmul(inverse(a, where), columns, {}, Precision::full, where);
  return Tile<T>::adopt(lang::solutions_like(b.value(where), x.value(where), where));
}

// a = q r, where q is a rotation and r upper triangular. From 2x2 to 6x6.
template <FloatingScalar T>
QR<T> qr(const Tile<T> &a, SourceLocation where = std::source_location::current()) {
  const auto parts = lang::function_of_matrices(lang::MatrixFunction::qr, a.value(where), where);
  return {Tile<T>::adopt(parts[0]), Tile<T>::adopt(parts[1])};
}

// a = vectors diag(values) vectorsᵀ. Values ascend; only the symmetric part of a counts. 2x2 and 3x3.
template <FloatingScalar T>
SymmetricEigen<T> symmetric_eigen(const Tile<T> &a, SourceLocation where = std::source_location::current()) {
  const auto parts = lang::function_of_matrices(lang::MatrixFunction::symmetric_eigen, a.value(where), where);
  return {Tile<T>::adopt(parts[0]), Tile<T>::adopt(parts[1])};
}

// a = u diag(values) vᵀ. Values descend and are not negative. 2x2 and 3x3.
template <FloatingScalar T>
SingularValues<T> svd(const Tile<T> &a, SourceLocation where = std::source_location::current()) {
  const auto parts = lang::function_of_matrices(lang::MatrixFunction::svd, a.value(where), where);
  return {Tile<T>::adopt(parts[0]), Tile<T>::adopt(parts[1]), Tile<T>::adopt(parts[2])};
}

}  // namespace tile
}  // namespace samite
