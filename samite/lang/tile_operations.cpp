#include "samite/lang/tile_operations.h"

#include "samite/base/error.h"
#include "samite/ir/tile_rules.h"
#include "samite/lang/trace.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace samite::lang {
namespace {

std::string list(const auto &numbers) {
  std::string text;
  for (const auto &number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return "{" + text + "}";
}

std::string extents_of(const ir::Type &type) { return type.shape().to_string(); }

// 64-bit only if the number has more than 32 bits: narrower indices are faster, and bulk copies take only those.
ir::Value constant_origin(const ir::Value &number, std::int64_t extent) {
  const std::int64_t origin = number.as_int() * extent;
  const bool fits = std::in_range<std::int32_t>(origin);
  return ir::Value::constant(fits ? ScalarType::Int32 : ScalarType::Int64, origin);
}

}  // namespace

std::vector<ir::Value> tile_origin(Indices indices, const ir::Type &type, int rank, bool cut, SourceLocation where) {
  const ir::TileShape shape = type.shape();
  if (static_cast<int>(indices.size()) != rank || shape.rank() > rank)
    throw UserError(where, "a tile of extents " + shape.to_string() + " and " + std::to_string(indices.size()) +
                               " indices of an array of rank " + std::to_string(rank) +
                               "; there is an index for each dimension of the array, and a tile has no more of them");
  std::vector<ir::Value> origin;
  int d = shape.rank() - rank;
  for (const Index &index : indices) {
    ir::Value value = index.value();
    const std::int64_t extent = cut && d >= 0 ? shape[d] : 1;
    if (value.is_constant())
      value = constant_origin(value, extent);
    else if (extent != 1)
      value = record(ir::Op::Mul, value.type(), {value, ir::Value::constant(value.type(), extent)}, where);
    origin.push_back(value);
    ++d;
  }
  return origin;
}

std::vector<ir::Value> view_origin(Indices first, const ir::Type &type, int rank,
                                   const std::vector<std::int64_t> &steps, const std::vector<int> &order,
                                   bool may_repeat, SourceLocation where) {
  std::vector<ir::Value> origin = tile_origin(first, type, rank, false, where);
  const auto dimensions = static_cast<std::size_t>(type.shape().rank());
  std::vector<int> sorted = order;
  std::ranges::sort(sorted);
  bool all = order.empty() || order.size() == dimensions;
  for (std::size_t d = 0; all && d < sorted.size(); ++d) all = sorted[d] == static_cast<int>(d);
  const bool some_step = steps.empty() || steps.size() == dimensions;
  const std::ptrdiff_t repeated = std::ranges::count(steps, 0);
  if (!all || !some_step || (repeated > 0 && !may_repeat) || (repeated > 0 && repeated == std::ssize(steps)))
    throw UserError(
        where, "a view of steps " + list(steps) + " and order " + list(order) + " for a tile of extents " +
                   extents_of(type) + "; both are empty or have a number for each dimension of the tile: " +
                   (may_repeat ? "steps, of which one is not 0, " : "steps other than 0, where elements are stored, ") +
                   "and an order that names each dimension once");
  const std::size_t before = static_cast<std::size_t>(rank) - dimensions;
  for (std::size_t d = 0; d < dimensions; ++d) {
    ir::Value &index = origin[before + (order.empty() ? d : static_cast<std::size_t>(order[d]))];
    if (!steps.empty() && steps[d] == 0) continue;
    const ir::Type indices = type.of(index.type().element());
    const ir::Value own = record_tile({ir::Op::Coordinate, indices, {}, 0, static_cast<std::int32_t>(d)}, where);
    const ir::Value step = ir::Value::constant(indices, steps.empty() ? 1 : steps[d]);
    const ir::Value away = record_tile({ir::Op::Mul, indices, {own, step}}, where);
    index = record_on_tiles(ir::Op::Add, indices.element(), {index, away}, where);
  }
  return origin;
}

ir::Value insert_into_tile(ir::Value x, Indices at, ir::Value value, SourceLocation where) {
  const ir::Type type = x.type();
  if (static_cast<int>(at.size()) != type.shape().rank())
    throw UserError(where, "an element is inserted at " + std::to_string(at.size()) +
                               " indices into a tile of extents " + extents_of(type) +
                               "; there is an index for each dimension");
  std::optional<ir::Value> here;
  std::int32_t dimension = 0;
  for (const Index &index : at) {
    const ir::Type indices = type.of(index.value().type().element());
    const ir::Value own = record_tile({ir::Op::Coordinate, indices, {}, 0, dimension++}, where);
    const ir::Value equal = record_on_tiles(ir::Op::Equal, ScalarType::Bool, {own, index.value()}, where);
    here = here ? record_tile({ir::Op::And, equal.type(), {*here, equal}}, where) : equal;
  }
  return record_on_tiles(ir::Op::Select, type.element(), {*here, value, x}, where);
}

ir::Value fill_tile(const ir::Type &type, const ir::Value &number, SourceLocation where) {
  if (number.is_constant())
    return record_tile({ir::Op::Copy, type, {ir::Value::from_bits(type, number.bits())}}, where);
  return record_tile({ir::Op::Broadcast, type, {number}}, where);
}

ir::Value load_tile(std::uint32_t array, std::vector<ir::Value> indices, const ir::Type &type, SourceLocation where) {
  return record_tile({ir::Op::Load, type, std::move(indices), array}, where);
}

void store_tile(std::uint32_t array, std::vector<ir::Value> indices, ir::Value value, SourceLocation where) {
  Trace::current(where).append({ir::Store{array, std::move(indices), value}, where});
}

void add_tile(std::uint32_t array, std::vector<ir::Value> indices, ir::Value value, SourceLocation where) {
  if (indices[0].type().is_tile() && indices[0].type().shape() != value.type().shape())
    throw UserError(where, "indices of extents " + extents_of(indices[0].type()) + " for a tile of extents " +
                               extents_of(value.type()) + "; there must be one for each element");
  Trace::current(where).append({ir::Accumulate{array, std::move(indices), value, true}, where});
}

ir::Value reduce_tile(ir::Op op, ScalarType result, ir::Value tile, Dimensions along, SourceLocation where) {
  if (along.size() == 0) return record_tile({op, result, {tile}}, where);
  const ir::TileShape shape = tile.type().shape();
  std::vector<std::int64_t> extents(shape.begin(), shape.end());
  for (int dimension : along) {
    extents[static_cast<std::size_t>(tile_dimension(dimension, tile.type(), where))] = 1;
  }
  return record_tile({op, {result, ir::TileShape(extents)}, {tile}}, where);
}

ir::Value transpose_tile(ir::Value tile, Dimensions order, SourceLocation where) {
  const ir::TileShape shape = tile.type().shape();
  std::vector<int> dimensions;
  for (const int dimension : order) dimensions.push_back(tile_dimension(dimension, tile.type(), where));
  std::vector<int> sorted(dimensions);
  std::ranges::sort(sorted);
  bool all = static_cast<int>(order.size()) == shape.rank();
  for (std::size_t d = 0; all && d < sorted.size(); ++d) all = sorted[d] == static_cast<int>(d);
  if (!all)
    throw UserError(where, "transpose of a tile of extents " + shape.to_string() +
                               ": the order must name each of its dimensions once");
  std::vector<std::int64_t> extents;
  std::int32_t attribute = 0;
  for (const int dimension : dimensions) {
    attribute |= dimension << (4 * extents.size());
    extents.push_back(shape[dimension]);
  }
  return record_tile({ir::Op::Transpose, {tile.type().element(), ir::TileShape(extents)}, {tile}, 0, attribute}, where);
}

ir::Value window_tile(ir::Value tile, Indices begin, TileExtents extents, SourceLocation where) {
  const ir::Type type = tile_type(tile.type().element(), extents, where);
  if (type.shape().rank() != tile.type().shape().rank() || static_cast<int>(begin.size()) != type.shape().rank())
    throw UserError(where, "a slice of extents " + extents_of(type) + " at " + std::to_string(begin.size()) +
                               " indices of a tile of extents " + extents_of(tile.type()) +
                               "; all have as many dimensions");
  ir::Operation window{ir::Op::Window, type, {tile}};
  for (const Index &index : begin) window.operands.push_back(index.value());
  return record_tile(std::move(window), where);
}

// Both with margins of zeros, put together.
ir::Value concatenate_tiles(ir::Value a, ir::Value b, int dimension, SourceLocation where) {
  const ir::TileShape first = a.type().shape(), second = b.type().shape();
  dimension = tile_dimension(dimension, a.type(), where);
  bool fits = first.rank() == second.rank();
  std::vector<std::int64_t> extents(first.begin(), first.end());
  for (int d = 0; fits && d < first.rank(); ++d) {
    if (d == dimension)
      extents[static_cast<std::size_t>(d)] += second[d];
    else
      fits = first[d] == second[d];
  }
  if (!fits)
    throw UserError(where, "concatenate of tiles of extents " + first.to_string() + " and " + second.to_string() +
                               " along dimension " + std::to_string(dimension) + "; the others must be equal");
  const ir::Type type(a.type().element(), ir::TileShape(extents)), integers = type.of(ScalarType::Int32);
  auto with_margin = [&](ir::Value tile, std::int64_t before) {
    ir::Operation window{ir::Op::Window, type, {tile}};
    for (int d = 0; d < first.rank(); ++d)
      window.operands.push_back(ir::Value::constant(ScalarType::Int32, d == dimension ? -before : 0));
    return record_tile(std::move(window), where);
  };
  const ir::Value place = record_tile({ir::Op::Coordinate, integers, {}, 0, dimension}, where);
  const ir::Value in_first = record_tile(
      {ir::Op::Less, type.of(ScalarType::Bool), {place, ir::Value::constant(integers, first[dimension])}}, where);
  return record_tile({ir::Op::Select, type, {in_first, with_margin(a, 0), with_margin(b, first[dimension])}}, where);
}

ir::Type product_type(const ir::Type &a, const ir::Type &b, bool transposed_a, bool transposed_b, ScalarType element,
                      SourceLocation where) {
  const ir::TileShape left = a.shape(), right = b.shape();
  const int rank = left.rank();
  if (rank != right.rank() || (rank != 2 && rank != 3))
    throw UserError(where, "matmul of tiles of extents " + left.to_string() + " and " + right.to_string() +
                               "; both have two dimensions, or three for as many products as the first says");
  std::vector<std::int64_t> extents(left.begin(), left.end());
  extents[static_cast<std::size_t>(rank) - 2] = left[rank - (transposed_a ? 1 : 2)];
  extents[static_cast<std::size_t>(rank) - 1] = right[rank - (transposed_b ? 2 : 1)];
  return {element, ir::TileShape(extents)};
}

void check_precision(bool tf32, ScalarType factor, SourceLocation where) {
  if (!tf32 || factor == ScalarType::Float32) return;
  throw UserError(where,
                  "matmul of factors of " + std::string(name(factor)) +
                      " with Precision::tf32, which is how factors of f32 are rounded; leave it out, or cast them");
}

ir::Value multiply_tiles(ir::Value a, ir::Value b, ir::Value sum, bool transposed_a, bool transposed_b, bool tf32,
                         SourceLocation where) {
  ir::Operation product{ir::Op::MatMul, sum.type(), {a, b, sum}, 0};
  product.attribute =
      (transposed_a ? ir::transposed_a : 0) | (transposed_b ? ir::transposed_b : 0) | (tf32 ? ir::tf32_factors : 0);
  if (!ir::tile_type_error(product).empty())
    throw UserError(where, "matmul of tiles of extents " + extents_of(a.type()) +
                               (transposed_a ? " (transposed)" : "") + " and " + extents_of(b.type()) +
                               (transposed_b ? " (transposed)" : "") + " into one of extents " +
                               extents_of(sum.type()) +
                               "; MxK and KxN have the product MxN, and three dimensions begin with the same extent");
  return record_tile(std::move(product), where);
}

ir::Value scaled_product(ir::Value alpha, ir::Value a, ir::Value b, ir::Value beta, ir::Value sum, bool transposed_a,
                         bool transposed_b, SourceLocation where) {
  const ScalarType type = sum.type().element();
  const ir::Value product = multiply_tiles(a, b, ir::Value::zero(sum.type()), transposed_a, transposed_b,
                                           /*tf32=*/false, where);
  return record_on_tiles(ir::Op::Add, type,
                         {record_on_tiles(ir::Op::Mul, type, {alpha, product}, where),
                          record_on_tiles(ir::Op::Mul, type, {beta, sum}, where)},
                         where);
}

}  // namespace samite::lang
