#include "samite/lang/tile_memory.h"

#include "samite/base/error.h"
#include "samite/lang/trace.h"

#include <optional>

namespace samite::lang {
namespace {

// An index that is outside of every array if the mask is false.
ir::Value outside_without(const ir::Value &mask, const ir::Value &index, SourceLocation where) {
  const ScalarType integer = index.type().element();
  return record_on_tiles(ir::Op::Select, integer, {mask, index, ir::Value::constant(integer, std::int64_t{-1})}, where);
}

ir::Value in_extents(const ir::Value &value, const ir::TileShape &shape, SourceLocation where) {
  const ir::Type whole(value.type().element(), shape);
  if (value.type() == whole) return value;
  if (value.is_constant()) return ir::Value::from_bits(whole, value.bits());
  return record_tile({ir::Op::Broadcast, whole, {value}}, where);
}

// The first number of a tile, and each element's offset from it along a dimension.
ir::Value offset_from(const ir::Value &first, const ir::TileShape &shape, int dimension, SourceLocation where) {
  const ir::Type integers(first.type().element(), shape);
  const ir::Value own = record_tile({ir::Op::Coordinate, integers, {}, 0, dimension}, where);
  return record_on_tiles(ir::Op::Add, integers.element(), {first, own}, where);
}

}  // namespace

ElementPlaces element_places(const ElementIndices &indices, int rank, const ir::Value *mask, const ir::Value *value,
                             SourceLocation where) {
  ElementPlaces places{indices.values(), {}};
  if (static_cast<int>(places.indices.size()) != rank)
    throw UserError(where, std::to_string(places.indices.size()) + " indices of elements of an array of rank " +
                               std::to_string(rank) + "; there is a tile of indices, or a number, for each dimension");
  for (const ir::Value &index : places.indices) places.shape = shape_of_both(places.shape, index.type().shape(), where);
  if (mask) places.shape = shape_of_both(places.shape, mask->type().shape(), where);
  if (value) places.shape = shape_of_both(places.shape, value->type().shape(), where);
  bool masked = mask == nullptr;
  for (ir::Value &index : places.indices) {
    if (!index.type().is_tile()) continue;
    index = in_extents(index, places.shape, where);
    if (masked) continue;
    index = outside_without(*mask, index, where);
    masked = true;
  }
  return places;
}

ElementPlaces row_places(const ir::Value &rows, Indices number, const std::vector<std::int64_t> &extents, int rank,
                         SourceLocation where) {
  const ir::TileShape chosen = rows.type().shape();
  const bool integers = rows.type().element() == ScalarType::Int32 || rows.type().element() == ScalarType::Int64;
  if (chosen.rank() != 1 || !integers || static_cast<int>(number.size()) != rank - 1 ||
      static_cast<int>(extents.size()) != rank - 1)
    throw UserError(where, "rows at a tile of " + std::string(name(rows.type().element())) + " of extents " +
                               chosen.to_string() + ", with " + std::to_string(number.size()) + " indices and " +
                               std::to_string(extents.size()) + " extents, of an array of rank " +
                               std::to_string(rank) +
                               "; the tile has one dimension of i32 or i64, and there is an index and an extent for "
                               "each dimension of the array but the first");
  std::vector<std::int64_t> all{chosen[0]};
  all.insert(all.end(), extents.begin(), extents.end());
  ElementPlaces places{{}, ir::TileShape(all)};
  std::vector<std::int64_t> column(all.size(), 1);
  column[0] = chosen[0];
  const ir::Value each = record_tile({ir::Op::Reshape, {rows.type().element(), ir::TileShape(column)}, {rows}}, where);
  places.indices.push_back(in_extents(each, places.shape, where));
  const std::vector<ir::Value> origin =
      tile_origin(number, {ScalarType::Float32, ir::TileShape(extents)}, rank - 1, true, where);
  for (int d = 1; d < rank; ++d)
    places.indices.push_back(offset_from(origin[static_cast<std::size_t>(d) - 1], places.shape, d, where));
  return places;
}

std::vector<ir::Value> places_under_mask(Indices indices, const ir::Type &type, int rank, bool cut,
                                         const ir::Value &mask, SourceLocation where) {
  std::vector<ir::Value> origin = tile_origin(indices, type, rank, cut, where);
  const int before = rank - type.shape().rank();
  for (int d = before; d < rank; ++d) {
    ir::Value &index = origin[static_cast<std::size_t>(d)];
    index = offset_from(index, type.shape(), d - before, where);
    if (d == before) index = outside_without(mask, index, where);
  }
  return origin;
}

ir::Value with_other(const ir::Value &loaded, std::uint32_t array, const std::vector<ir::Value> &origin,
                     const ir::Value *mask, const ir::Value &other, SourceLocation where) {
  const ir::Type type = loaded.type();
  std::optional<ir::Value> chosen;
  const auto require = [&](const ir::Value &condition) {
    chosen = chosen ? record_on_tiles(ir::Op::And, ScalarType::Bool, {*chosen, condition}, where) : condition;
  };
  if (mask) require(*mask);
  // Loads give zeros outside of the array already.
  if (other != ir::Value::zero(other.type())) {
    const int before = static_cast<int>(origin.size()) - type.shape().rank();
    for (int d = 0; d < static_cast<int>(origin.size()); ++d) {
      const ir::Value &first = origin[static_cast<std::size_t>(d)];
      const ScalarType integer = first.type().element();
      const ir::Value extent = record_tile({ir::Op::Extent, integer, {}, array, d}, where);
      const ir::Value index = d < before ? first : offset_from(first, type.shape(), d - before, where);
      require(record_on_tiles(ir::Op::GreaterEqual, ScalarType::Bool, {index, ir::Value::zero(integer)}, where));
      require(record_on_tiles(ir::Op::Less, ScalarType::Bool, {index, extent}, where));
    }
  }
  return chosen ? record_on_tiles(ir::Op::Select, type.element(), {*chosen, loaded, other}, where) : loaded;
}

ir::Value value_for(const ElementPlaces &places, const ir::Value &value, SourceLocation where) {
  return in_extents(value, places.shape, where);
}

ir::Value where_masked(const ir::Value &loaded, const ir::Value &mask, const ir::Value &other, SourceLocation where) {
  if (other == ir::Value::zero(other.type())) return loaded;
  return record_on_tiles(ir::Op::Select, loaded.type().element(), {mask, loaded, other}, where);
}

ir::Value atomic_on_tiles(ir::Op op, std::uint32_t array, const ElementPlaces &places,
                          const std::vector<ir::Value> &values, SourceLocation where) {
  ir::Operation atomic{op, {values[0].type().element(), places.shape}, places.indices, array};
  for (const ir::Value &value : values) atomic.operands.push_back(in_extents(value, places.shape, where));
  return record_tile(std::move(atomic), where);
}

ir::Value atomic_at(ir::Op op, std::uint32_t array, int rank, const ElementIndices &indices,
                    const std::vector<ir::Value> &values, const std::optional<Tile<bool>> &mask, SourceLocation where) {
  const std::optional<ir::Value> chosen = mask ? std::optional(mask->value(where)) : std::nullopt;
  ElementPlaces places = element_places(indices, rank, chosen ? &*chosen : nullptr, &values[0], where);
  return atomic_on_tiles(op, array, places, values, where);
}

}  // namespace samite::lang
