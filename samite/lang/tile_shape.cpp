#include "samite/lang/tile_shape.h"

#include "samite/base/error.h"
#include "samite/ir/tile_rules.h"

#include <algorithm>

namespace samite::lang {
namespace {

using Extents = std::vector<std::int64_t>;

Extents extents_in(const ir::Value &x) {
  const ir::TileShape shape = x.type().shape();
  return {shape.begin(), shape.end()};
}

ir::Value shaped_as(const ir::Value &x, const Extents &extents, SourceLocation where) {
  return record_tile({ir::Op::Reshape, {x.type().element(), ir::TileShape(extents)}, {x}}, where);
}

ir::Value number_of(std::int64_t number) { return ir::Value::constant(ScalarType::Int32, number); }

// The window that starts at an offset along one dimension; zero outside.
ir::Value window_along(const ir::Value &x, int dimension, const ir::Value &begin, std::int64_t extent,
                       SourceLocation where) {
  Extents extents = extents_in(x);
  extents[static_cast<std::size_t>(dimension)] = extent;
  ir::Operation window{ir::Op::Window, {x.type().element(), ir::TileShape(extents)}, {x}};
  for (int d = 0; d < x.type().shape().rank(); ++d) window.operands.push_back(d == dimension ? begin : number_of(0));
  return record_tile(std::move(window), where);
}

ir::Value own_index(const ir::Type &type, int dimension, SourceLocation where) {
  return record_tile({ir::Op::Coordinate, type.of(ScalarType::Int32), {}, 0, dimension}, where);
}

ir::Value swapped_with_last(const ir::Value &x, int dimension, SourceLocation where) {
  Extents extents = extents_in(x);
  const auto last = static_cast<std::int32_t>(extents.size()) - 1;
  std::swap(extents[static_cast<std::size_t>(dimension)], extents.back());
  std::int32_t order = 0;
  for (std::int32_t d = 0; d <= last; ++d) order |= (d == dimension ? last : d == last ? dimension : d) << (4 * d);
  return record_tile({ir::Op::Transpose, {x.type().element(), ir::TileShape(extents)}, {x}, 0, order}, where);
}

}  // namespace

ir::Value expand_tile(const ir::Value &x, int dimension, SourceLocation where) {
  Extents extents = extents_in(x);
  const int rank = static_cast<int>(extents.size());
  if (rank == ir::maximum_tile_rank || dimension < -rank - 1 || dimension > rank)
    throw UserError(where, "expand_dims at dimension " + std::to_string(dimension) + " of a tile of extents " +
                               x.type().shape().to_string() +
                               "; a tile has at most four dimensions, and the new one is 0 to " + std::to_string(rank) +
                               ", or from the last one backwards -1 to " + std::to_string(-rank - 1));
  extents.insert(extents.begin() + (dimension < 0 ? dimension + rank + 1 : dimension), 1);
  return shaped_as(x, extents, where);
}

ir::Value squeeze_tile(const ir::Value &x, std::optional<int> dimension, SourceLocation where) {
  Extents extents = extents_in(x);
  if (dimension) {
    const int at = tile_dimension(*dimension, x.type(), where);
    if (extents[static_cast<std::size_t>(at)] != 1 || extents.size() == 1)
      throw UserError(where, "squeeze of dimension " + std::to_string(*dimension) + " of a tile of extents " +
                                 x.type().shape().to_string() +
                                 "; it has extent 1, and is not the only one (tile::sum makes a number of a tile)");
    extents.erase(extents.begin() + at);
  } else {
    std::erase(extents, 1);
    if (extents.empty()) extents.push_back(1);
  }
  return shaped_as(x, extents, where);
}

ir::Value flip_tile(const ir::Value &x, int dimension, SourceLocation where) {
  dimension = tile_dimension(dimension, x.type(), where);
  const int last = x.type().shape().rank() - 1;
  const ir::Value from = dimension == last ? x : swapped_with_last(x, dimension, where);
  const ir::Type integers = from.type().of(ScalarType::Int32);
  const ir::Value end = ir::Value::constant(integers, from.type().shape()[last] - 1);
  const ir::Value places = record_tile({ir::Op::Sub, integers, {end, own_index(integers, last, where)}}, where);
  const ir::Value flipped = record_tile({ir::Op::Take, from.type(), {from, places}}, where);
  return dimension == last ? flipped : swapped_with_last(flipped, dimension, where);
}

ir::Value roll_tile(const ir::Value &x, const Index &by, int dimension, SourceLocation where) {
  dimension = tile_dimension(dimension, x.type(), where);
  const std::int64_t extent = x.type().shape()[dimension];
  const auto with = [&](ir::Op op, const ir::Value &a, std::int64_t b) {
    return record(op, a.type().element(), {a, ir::Value::constant(a.type(), b)}, where);
  };
  ir::Value first = by.value();  // the index of the former element 0
  if (first.is_constant()) {
    first = number_of((first.as_int() % extent + extent) % extent);
  } else {
    first = with(ir::Op::Rem, with(ir::Op::Add, with(ir::Op::Rem, first, extent), extent), extent);
    if (first.type().element() != ScalarType::Int32) first = record_cast(ScalarType::Int32, first, where);
  }
  const auto minus = [&](std::int64_t from) {
    return first.is_constant() ? number_of(from - first.as_int())
                               : record(ir::Op::Sub, ScalarType::Int32, {number_of(from), first}, where);
  };
  const ir::Value begin = window_along(x, dimension, minus(extent), extent, where);
  const ir::Value rest = window_along(x, dimension, minus(0), extent, where);
  const ir::Value before =
      record_on_tiles(ir::Op::Less, ScalarType::Bool, {own_index(x.type(), dimension, where), first}, where);
  return record_tile({ir::Op::Select, x.type(), {before, begin, rest}}, where);
}

ir::Value pad_tile(const ir::Value &x, std::initializer_list<int> before, std::initializer_list<int> after,
                   const ir::Value &value, SourceLocation where) {
  const Extents from = extents_in(x);
  const bool negative = std::ranges::min(before.size() ? before : std::initializer_list<int>{-1}) < 0 ||
                        std::ranges::min(after.size() ? after : std::initializer_list<int>{-1}) < 0;
  if (before.size() != from.size() || after.size() != from.size() || negative)
    throw UserError(where, "pad of a tile of extents " + x.type().shape().to_string() + " by " +
                               std::to_string(before.size()) + " numbers before and " + std::to_string(after.size()) +
                               " after; there is one of each for each dimension, none of them negative "
                               "(tile::slice leaves elements out)");
  Extents extents = from;
  ir::Operation window{ir::Op::Window, x.type(), {x}};
  for (std::size_t d = 0; d < from.size(); ++d) {
    extents[d] += before.begin()[d] + after.begin()[d];
    window.operands.push_back(number_of(-before.begin()[d]));
  }
  window.type = {x.type().element(), ir::TileShape(extents)};
  const ir::Type type = window.type, truth = type.of(ScalarType::Bool), integers = type.of(ScalarType::Int32);
  const ir::Value padded = record_tile(std::move(window), where);
  if (value == ir::Value::zero(value.type())) return padded;
  ir::Value inside = ir::Value::from_bits(truth, 1);
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (extents[d] == from[d]) continue;
    const ir::Value index = own_index(type, static_cast<int>(d), where);
    const auto compared = [&](ir::Op op, std::int64_t with) {
      return record_tile({op, truth, {index, ir::Value::constant(integers, with)}}, where);
    };
    const ir::Value begun = compared(ir::Op::GreaterEqual, before.begin()[d]);
    const ir::Value here =
        record_tile({ir::Op::And, truth, {begun, compared(ir::Op::Less, before.begin()[d] + from[d])}}, where);
    inside = record_tile({ir::Op::And, truth, {inside, here}}, where);
  }
  return record_on_tiles(ir::Op::Select, type.element(), {inside, padded, value}, where);
}

ir::Value repeat_tile(const ir::Value &x, int times, int dimension, bool each, SourceLocation where) {
  dimension = tile_dimension(dimension, x.type(), where);
  if (times < 1)
    throw UserError(where, "a tile that is repeated " + std::to_string(times) + " times; it is at least once");
  const ir::ScanExtents e = ir::scan_extents(x.type(), dimension);
  // Inserts a dimension of extent 1, which is repeated.
  Extents apart = each ? Extents{e.outer * e.extent, 1, e.inner} : Extents{e.outer, 1, e.extent * e.inner};
  const ir::Value from = shaped_as(x, apart, where);
  apart[1] = times;
  const ir::Value repeated =
      record_tile({ir::Op::Broadcast, {x.type().element(), ir::TileShape(apart)}, {from}}, where);
  Extents extents = extents_in(x);
  extents[static_cast<std::size_t>(dimension)] *= times;
  return shaped_as(repeated, extents, where);
}

std::vector<ir::Value> split_tile(const ir::Value &x, int parts, int dimension, SourceLocation where) {
  dimension = tile_dimension(dimension, x.type(), where);
  const std::int64_t extent = x.type().shape()[dimension];
  if (parts < 1 || extent % parts != 0)
    throw UserError(where, "split into " + std::to_string(parts) + " parts along dimension " +
                               std::to_string(dimension) + " of a tile of extents " + x.type().shape().to_string() +
                               "; parts are equal (tile::slice takes any part)");
  std::vector<ir::Value> tiles;
  for (int part = 0; part < parts; ++part)
    tiles.push_back(window_along(x, dimension, number_of(part * (extent / parts)), extent / parts, where));
  return tiles;
}

ir::Value stack_tiles(const std::vector<ir::Value> &tiles, int dimension, SourceLocation where) {
  if (tiles.empty()) throw UserError(where, "a stack of no tiles; there is at least one");
  for (const ir::Value &tile : tiles)
    if (tile.type() != tiles[0].type())
      throw UserError(where, "a stack of tiles of extents " + tiles[0].type().shape().to_string() + " and " +
                                 tile.type().shape().to_string() + "; all have the same");
  ir::Value all = expand_tile(tiles[0], dimension, where);
  const int rank = all.type().shape().rank(), along = dimension < 0 ? dimension + rank : dimension;
  for (std::size_t i = 1; i < tiles.size(); ++i)
    all = concatenate_tiles(all, expand_tile(tiles[i], along, where), along, where);
  return all;
}

}  // namespace samite::lang
