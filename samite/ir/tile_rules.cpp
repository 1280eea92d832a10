#include "samite/ir/tile_rules.h"

#include <fmt/format.h>
#include <algorithm>

namespace samite::ir {
namespace {

bool holds_indices(const Type &type) {
  return type.element() == ScalarType::Int32 || type.element() == ScalarType::Int64;
}

// The extents of a factor as (batch,) rows and columns, after undoing its transposition.
struct Matrix {
  std::int64_t batch = 1, rows = 0, columns = 0;
};
std::optional<Matrix> matrix(const Type &type, bool transposed) {
  const TileShape shape = type.shape();
  if (shape.rank() != 2 && shape.rank() != 3) return std::nullopt;
  Matrix m{shape.rank() == 3 ? shape[0] : 1, shape[shape.rank() - 2], shape[shape.rank() - 1]};
  if (transposed) std::swap(m.rows, m.columns);
  return m;
}

std::string matmul_error(const Operation &operation) {
  const Type a_type = operation.operands[0].type(), b_type = operation.operands[1].type();
  const auto a = matrix(a_type, operation.attribute & transposed_a),
             b = matrix(b_type, operation.attribute & transposed_b), c = matrix(operation.type, false);
  const bool same_rank =
      a_type.shape().rank() == b_type.shape().rank() && a_type.shape().rank() == operation.type.shape().rank();
  if (!a || !b || !c || !same_rank || a->columns != b->rows || c->rows != a->rows || c->columns != b->columns ||
      a->batch != b->batch || c->batch != a->batch)
    return fmt::format("the extents {} and {} have no product {}", a_type.shape().to_string(),
                       b_type.shape().to_string(), operation.type.shape().to_string());
  if (operation.operands[2].type() != operation.type)
    return fmt::format("{} is added to a product of type {}", name(operation.operands[2].type()), name(operation.type));
  const bool both_small = is_float8(a_type.element()) && is_float8(b_type.element());
  if (a_type.element() != b_type.element() && !(both_small && operation.type.element() == ScalarType::Float32))
    return fmt::format("the factors have types {} and {}", name(a_type), name(b_type));
  return "";
}

std::string window_error(const Operation &operation) {
  const Type &type = operation.type, from = operation.operands[0].type();
  if (!from.is_tile() || from.element() != type.element() || from.shape().rank() != type.shape().rank())
    return fmt::format("{} is no window of {}", name(type), name(from));
  if (operation.operands.size() != 1 + static_cast<std::size_t>(from.shape().rank()))
    return fmt::format("{} offsets, expected {}", operation.operands.size() - 1, from.shape().rank());
  for (std::size_t i = 1; i < operation.operands.size(); ++i) {
    const Type offset = operation.operands[i].type();
    if (offset.is_tile() || !holds_indices(offset)) return fmt::format("an offset of type {}", name(offset));
  }
  return "";
}

std::string transpose_error(const Operation &operation) {
  const Type &type = operation.type, from = operation.operands[0].type();
  bool fits = from.element() == type.element() && from.shape().rank() == type.shape().rank();
  int seen = 0;
  for (int d = 0; fits && d < type.shape().rank(); ++d) {
    const int axis = tile_axis(operation.attribute, d);
    fits = axis < from.shape().rank() && from.shape()[axis] == type.shape()[d] && !(seen >> axis & 1);
    seen |= 1 << axis;
  }
  return fits ? "" : fmt::format("{} is no transpose of {}", name(type), name(from));
}

std::string scan_error(const Operation &operation) {
  const std::int32_t dimension = operation.attribute & scan_dimension;
  const std::int32_t known = scan_dimension | scan_backwards | (operation.op == Op::ScanLinear ? 0 : scan_exclusive);
  for (const Value &operand : operation.operands)
    if (operand.type() != operation.type || !operation.type.is_tile() || operation.type.element() == ScalarType::Bool)
      return fmt::format("{} is no scan of {}", name(operation.type), name(operand.type()));
  return dimension >= operation.type.shape().rank() || (operation.attribute & ~known) ? "no such scan" : "";
}

bool is_square(const Type &type) {
  const auto m = matrix(type, false);
  return m && m->rows == m->columns && (type.element() == ScalarType::Float32 || type.element() == ScalarType::Float64);
}

std::string cholesky_error(const Operation &operation) {
  if (operation.operands[0].type() == operation.type && is_square(operation.type)) return "";
  return fmt::format("{} is no factor of {}", name(operation.type), name(operation.operands[0].type()));
}

std::string solve_error(const Operation &operation) {
  const Type a = operation.operands[0].type(), b = operation.operands[1].type();
  const auto left = matrix(a, false), right = matrix(b, false);
  if (!left || !right || !is_square(a) || b != operation.type || a.element() != b.element() ||
      a.shape().rank() != b.shape().rank() || left->batch != right->batch || left->rows != right->rows)
    return fmt::format("{} is no solution of {} and {}", name(operation.type), name(a), name(b));
  return operation.attribute & ~(solve_upper | solve_transposed) ? "no such half of a matrix" : "";
}

bool equal_but_for_the_last(const TileShape &a, const TileShape &b) {
  return a.rank() == b.rank() && a.rank() > 0 && std::equal(a.begin(), a.end() - 1, b.begin());
}

std::string place_error(const Operation &operation) {
  const Type type = operation.type, from = operation.operands[0].type(), places = operation.operands[1].type();
  const Type &placed = operation.op == Op::Take ? type : from;
  if (from.element() == type.element() && equal_but_for_the_last(from.shape(), type.shape()) &&
      places == placed.of(ScalarType::Int32))
    return "";
  return fmt::format("{} is not made of {} and places {}", name(type), name(from), name(places));
}

std::string fourier_error(const Operation &operation) {
  const Type &type = operation.type;
  const TileShape shape = type.shape();
  const bool real = type.element() == ScalarType::Float32 || type.element() == ScalarType::Float64;
  if (operation.operands[0].type() == type && real && shape.rank() >= 2 && shape[shape.rank() - 1] == 2) return "";
  return fmt::format("{} is no transform of {}", name(type), name(operation.operands[0].type()));
}

// The 8-bit floating types are storage types.
std::string float8_error(const Operation &operation) {
  if (operation.operands.empty() || !is_float8(operation.operands[0].type())) return "";
  switch (info(operation.op).typing) {
    case Typing::Copy:
    case Typing::Cast:
    case Typing::Select:
    case Typing::Compare:
    case Typing::Broadcast:
    case Typing::Reshape:
    case Typing::Transpose:
    case Typing::Window:
    case Typing::Take: return "";
    case Typing::MatMul:
      return operation.type.element() == ScalarType::Float32
                 ? ""
                 : fmt::format("products of {} are added up in f32", name(operation.operands[0].type().element()));
    default:
      return fmt::format("{} is a type of memory; tile::cast it to float to compute with it",
                         name(operation.operands[0].type().element()));
  }
}

// For element-wise operations.
std::string elements_error(const Operation &operation) {
  for (const Value &operand : operation.operands)
    if (operand.type().shape() != operation.type.shape())
      return fmt::format("an operand has type {}, and the result {}", name(operand.type()), name(operation.type));
  return "";
}

}  // namespace

bool is_tile_call(Op op) {
  switch (info(op).typing) {
    case Typing::Reduce:
    case Typing::Position:
    case Typing::MatMul:
    case Typing::Scan:
    case Typing::Cholesky:
    case Typing::Solve:
    case Typing::Order:
    case Typing::Put:
    case Typing::Fourier: return true;
    default: return false;
  }
}

bool broadcasts(const Type &from, const Type &to) {
  if (from.element() != to.element() || !to.is_tile()) return false;
  if (!from.is_tile()) return true;
  const TileShape a = from.shape(), b = to.shape();
  if (a.rank() != b.rank()) return false;
  for (int d = 0; d < a.rank(); ++d)
    if (a[d] != b[d] && a[d] != 1) return false;
  return true;
}

MatMulExtents matmul_extents(const Type &a, const Type &result, std::int32_t attribute) {
  const Matrix left = *matrix(a, attribute & transposed_a), product = *matrix(result, false);
  return {product.rows, product.columns, left.columns, product.batch};
}

bool sorts_by_counting(const Operation &order) {
  constexpr int most = 8;
  return order.op == Op::SortOrder && sort_bits(order.attribute) > 0 && sort_bits(order.attribute) <= most;
}

Type sort_counters(const Operation &order, int threads) {
  return {ScalarType::Int32, TileShape{std::int64_t{threads / 32 + 1} << sort_bits(order.attribute)}};
}

ScanExtents scan_extents(const Type &type, int dimension) {
  const TileShape shape = type.shape();
  ScanExtents extents{1, shape[dimension], 1};
  for (int d = 0; d < shape.rank(); ++d)
    if (d != dimension) (d < dimension ? extents.outer : extents.inner) *= shape[d];
  return extents;
}

bool is_gather(std::span<const Value> indices) {
  return std::ranges::any_of(indices, [](const Value &index) { return index.type().is_tile(); });
}

std::string tile_access_error(const std::vector<Value> &indices, int rank, const Type &value) {
  const bool gather = is_gather(indices);
  for (const Value &index : indices)
    if (index.type().is_tile() && index.type().shape() != value.shape())
      return fmt::format("an index has type {}, and the element {}", name(index.type()), name(value));
  if (value.is_tile() && !gather && value.shape().rank() > rank)
    return fmt::format("a tile of {} dimensions, and an array of {}", value.shape().rank(), rank);
  return "";
}

std::string tile_type_error(const Operation &operation) {
  const Type &type = operation.type;
  if (const std::string error = float8_error(operation); !error.empty()) return error;
  const auto mismatch = [&](const char *what) {
    return fmt::format("{} is no {} of {}", name(type), what, name(operation.operands[0].type()));
  };
  switch (info(operation.op).typing) {
    case Typing::Coordinate:
      if (!type.is_tile() || !holds_indices(type)) return fmt::format("coordinates of type {}", name(type));
      return operation.attribute < 0 || operation.attribute >= type.shape().rank() ? "no such dimension" : "";
    case Typing::Broadcast: return broadcasts(operation.operands[0].type(), type) ? "" : mismatch("broadcast");
    case Typing::Reduce:
    case Typing::Position: {
      const Type from = operation.operands[0].type();
      const bool position = info(operation.op).typing == Typing::Position;
      if (position && type.element() != ScalarType::Int32) return mismatch("position");
      const Type reduced = type.of(from.element());
      const bool fits = from.is_tile() && (!reduced.is_tile() || broadcasts(reduced, from));
      return fits && (position || reduced == type) && from.element() != ScalarType::Bool ? "" : mismatch("reduction");
    }
    case Typing::Reshape: {
      const Type from = operation.operands[0].type();
      return from.element() == type.element() && from.is_tile() && type.is_tile() && from.count() == type.count()
                 ? ""
                 : mismatch("reshape");
    }
    case Typing::Transpose: return transpose_error(operation);
    case Typing::Window: return window_error(operation);
    case Typing::MatMul: return matmul_error(operation);
    case Typing::Scan: return scan_error(operation);
    case Typing::Cholesky: return cholesky_error(operation);
    case Typing::Solve: return solve_error(operation);
    case Typing::Order: {
      const Type from = operation.operands[0].type();
      const bool fits = from.is_tile() && from.element() != ScalarType::Bool && type == from.of(ScalarType::Int32);
      const int bits = sort_bits(operation.attribute);
      const bool has_bits = is_integer(from.element()) && !(operation.attribute & sort_descending) && bits > 0 &&
                            bits <= static_cast<int>(8 * size_of(from.element()));
      if (fits && bits != 0 && !has_bits) return fmt::format("{} bits of {}", bits, name(from));
      return fits ? "" : mismatch("order");
    }
    case Typing::Take:
    case Typing::Put: return place_error(operation);
    case Typing::Fourier: return fourier_error(operation);
    case Typing::Same:
    case Typing::Floating:
    case Typing::Integer:
    case Typing::Bits:
    case Typing::Compare:
    case Typing::Select:
    case Typing::Cast: return elements_error(operation);
    default: return "";
  }
}

}  // namespace samite::ir
