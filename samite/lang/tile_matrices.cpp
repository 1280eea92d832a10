#include "samite/lang/tile_matrices.h"

#include "samite/base/error.h"
#include "samite/lang/algebra.h"
#include "samite/lang/right_hand_sides.h"
#include "samite/lang/tile_reduce.h"
#include "samite/lang/tile_shape.h"
#include "samite/lang/tile_threads.h"

#include <algorithm>

namespace samite::lang {
namespace {

using ir::Value;

struct FunctionLimits {
  const char *name;
  int least_rows, most_rows;
};
constexpr FunctionLimits limits_of(MatrixFunction function) {
  switch (function) {
    case MatrixFunction::determinant: return {"determinant", 1, 6};
    case MatrixFunction::inverse: return {"inverse", 1, 6};
    case MatrixFunction::qr: return {"qr", 2, 6};
    case MatrixFunction::symmetric_eigen: return {"symmetric_eigen", 2, 3};
    case MatrixFunction::svd: return {"svd", 2, 3};
  }
  return {};
}

void check_matrices(const FunctionLimits &limits, const ir::Type &type, SourceLocation where) {
  const ir::TileShape shape = type.shape();
  const int rank = shape.rank();
  if ((rank != 2 && rank != 3) || shape[rank - 1] != shape[rank - 2])
    throw UserError(where, std::string(limits.name) + " of a tile of extents " + shape.to_string() +
                               "; it takes one square matrix, or a batch of them in three dimensions");
  if (const std::int64_t rows = shape[rank - 1]; rows < limits.least_rows || rows > limits.most_rows)
    throw UserError(where, std::string(limits.name) + " of matrices of " + std::to_string(rows) + " rows; it takes " +
                               std::to_string(limits.least_rows) + " to " + std::to_string(limits.most_rows) +
                               " (symmetric matrices of any size have tile::cholesky and tile::solve_cholesky)");
  if (type.element() != ScalarType::Float32 && type.element() != ScalarType::Float64)
    throw UserError(where, std::string(limits.name) + " of a tile of " + std::string(name(type.element())) +
                               "; it takes f32 and f64 (tile::cast)");
}

// Always a separate value, which a Tile can adopt.
Value reshaped(const Value &x, std::span<const std::int64_t> extents, SourceLocation where) {
  return record_tile({ir::Op::Reshape, {x.type().element(), ir::TileShape(extents)}, {x}}, where);
}

// The results of one matrix, each a list of numbers.
template <class T, int N>
std::vector<std::vector<T>> results_of(MatrixFunction function, const Matrix<T, N, N> &m, SourceLocation where) {
  const auto numbers = [](const auto &of) { return std::vector<T>(of.begin(), of.end()); };
  switch (function) {
    case MatrixFunction::determinant: return {{determinant(m, where)}};
    case MatrixFunction::inverse: return {numbers(inverse(m, where))};
    case MatrixFunction::qr:
      if constexpr (N >= 2) {
        const auto [q, r] = qr(m, where);
        return {numbers(q), numbers(r)};
      }
      break;
    case MatrixFunction::symmetric_eigen:
      if constexpr (N == 2 || N == 3) {
        const auto [values, vectors] = symmetric_eigen(m, where);
        return {numbers(values), numbers(vectors)};
      }
      break;
    case MatrixFunction::svd:
      if constexpr (N == 2 || N == 3) {
        const auto [u, values, v] = svd(m, where);
        return {numbers(u), numbers(values), numbers(v)};
      }
      break;
  }
  throw InternalError("a function of matrices of this size");
}

// One element of all matrices is a row, so that neighbouring threads read neighbouring elements.
std::vector<Value> rows_of_elements(const Value &a, std::int64_t matrices, std::int64_t elements,
                                    SourceLocation where) {
  const std::int64_t extents[] = {matrices, elements};
  const Value rows = transpose_tile(reshape_tile(a, extents, where), {1, 0}, where);
  return split_tile(rows, static_cast<int>(elements), 0, where);
}

// For matrices: their elements, of extents {elements, 1, matrices}, as a tile of these extents.
Value tile_of_rows(const std::vector<Value> &rows, std::span<const std::int64_t> extents, SourceLocation where) {
  const Value all = stack_tiles(rows, 0, where);
  const ir::TileShape shape = all.type().shape();
  const std::int64_t flat[] = {shape[0], shape[2]};
  return reshape_tile(transpose_tile(reshape_tile(all, flat, where), {1, 0}, where), extents, where);
}

template <class T, int N>
std::vector<Value> function_of_rows(MatrixFunction function, const std::vector<Value> &rows, SourceLocation where) {
  const std::int64_t matrices = rows[0].type().shape()[1];
  ThreadCode code(rows, where);
  const auto m = Matrix<Traced<T>, N, N>::generate(
      [&](int i, int k) { return Traced<T>::copy(code.element(static_cast<std::size_t>(i * N + k)), where); });
  const std::vector<std::vector<Traced<T>>> results = results_of(function, m, where);
  std::vector<Value> numbers;
  for (const auto &result : results)
    for (const Traced<T> &number : result) numbers.push_back(number.value(where));
  const std::vector<Value> tiles = code.close(numbers);
  std::vector<Value> parts;
  auto next = tiles.begin();
  for (const auto &result : results) {
    const auto count = static_cast<std::ptrdiff_t>(result.size());
    const std::int64_t extents[] = {matrices, count};
    parts.push_back(tile_of_rows({next, next + count}, extents, where));
    next += count;
  }
  return parts;
}

template <class T>
std::vector<Value> function_of_size(MatrixFunction function, int n, const std::vector<Value> &rows,
                                    SourceLocation where) {
  switch (n) {
    case 1: return function_of_rows<T, 1>(function, rows, where);
    case 2: return function_of_rows<T, 2>(function, rows, where);
    case 3: return function_of_rows<T, 3>(function, rows, where);
    case 4: return function_of_rows<T, 4>(function, rows, where);
    case 5: return function_of_rows<T, 5>(function, rows, where);
    case 6: return function_of_rows<T, 6>(function, rows, where);
    default: throw InternalError("a function of matrices of this size");
  }
}

}  // namespace

std::vector<Value> function_of_matrices(MatrixFunction function, const Value &a, SourceLocation where) {
  check_matrices(limits_of(function), a.type(), where);
  const ir::TileShape shape = a.type().shape();
  const bool batch = shape.rank() == 3;
  const std::int64_t matrices = batch ? shape[0] : 1, n = shape[shape.rank() - 1];
  const std::vector<Value> rows = rows_of_elements(a, matrices, n * n, where);
  std::vector<Value> parts = a.type().element() == ScalarType::Float32
                                 ? function_of_size<float>(function, static_cast<int>(n), rows, where)
                                 : function_of_size<double>(function, static_cast<int>(n), rows, where);
  for (Value &part : parts) {
    const std::int64_t numbers = part.type().shape()[1];
    std::vector<std::int64_t> extents;
    const bool of_each = function == MatrixFunction::determinant;
    if (batch || of_each) extents.push_back(matrices);
    if (!of_each) extents.push_back(n);
    if (!of_each && numbers == n * n) extents.push_back(n);
    part = reshaped(part, extents, where);
  }
  return parts;
}

Value columns_of_systems(const Value &a, const Value &b, SourceLocation where) {
  check_matrices({"solve", 1, 6}, a.type(), where);
  const ir::TileShape columns = shape_of_columns("solve", a.type().shape(), b.type().shape(), where);
  return reshaped(b, std::vector<std::int64_t>(columns.begin(), columns.end()), where);
}

Value solutions_like(const Value &b, const Value &columns, SourceLocation where) {
  const ir::TileShape shape = b.type().shape();
  return reshaped(columns, std::vector<std::int64_t>(shape.begin(), shape.end()), where);
}

}  // namespace samite::lang
