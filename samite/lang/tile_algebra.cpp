#include "samite/lang/tile_algebra.h"

#include "samite/base/error.h"
#include "samite/lang/right_hand_sides.h"

#include <vector>

namespace samite::lang {
namespace {

// UserError unless it is a square matrix of a supported type.
void check_square(const char *what, const ir::Type &type, SourceLocation where) {
  const ir::TileShape shape = type.shape();
  const int rank = shape.rank();
  if ((rank != 2 && rank != 3) || shape[rank - 1] != shape[rank - 2])
    throw UserError(where, std::string(what) + " of a tile of extents " + shape.to_string() +
                               "; it is of a square matrix, NxN, or of as many as the first of three dimensions says");
  if (type.element() != ScalarType::Float32 && type.element() != ScalarType::Float64)
    throw UserError(where, std::string(what) + " of a tile of " + std::string(name(type.element())) +
                               "; the types that it is for are f32 and f64 (tile::cast)");
}

}  // namespace

ir::TileShape shape_of_columns(const char *what, const ir::TileShape &matrix, const ir::TileShape &right,
                               SourceLocation where) {
  const int rank = matrix.rank();
  const bool one_system = right.rank() == rank - 1;
  bool fits = one_system || right.rank() == rank;
  for (int d = 0; fits && d < rank - 1; ++d) fits = matrix[d] == right[d];
  if (!fits)
    throw UserError(where, std::string(what) + " with a matrix of extents " + matrix.to_string() +
                               " and a right-hand side of extents " + right.to_string() +
                               "; it has as many rows as the matrix, and the same first extent where there are three");
  std::vector<std::int64_t> columns(right.begin(), right.end());
  if (one_system) columns.push_back(1);
  return ir::TileShape(columns);
}

ir::Value cholesky_tile(ir::Value a, SourceLocation where) {
  check_square("cholesky", a.type(), where);
  return record_tile({ir::Op::Cholesky, a.type(), {a}}, where);
}

ir::Value solve_tile(ir::Value a, ir::Value b, tile::Triangle triangle, SourceLocation where) {
  check_square("solve_triangular", a.type(), where);
  const ir::TileShape right = b.type().shape();
  const ir::Type columns{b.type().element(), shape_of_columns("solve_triangular", a.type().shape(), right, where)};
  const bool one_system = columns != b.type();
  if (one_system) b = record_tile({ir::Op::Reshape, columns, {b}}, where);
  const std::int32_t attribute =
      (triangle.upper ? ir::solve_upper : 0) | (triangle.transposed ? ir::solve_transposed : 0);
  const ir::Value x = record_tile({ir::Op::TriangularSolve, columns, {a, b}, 0, attribute}, where);
  return one_system ? record_tile({ir::Op::Reshape, {columns.element(), right}, {x}}, where) : x;
}

}  // namespace samite::lang
