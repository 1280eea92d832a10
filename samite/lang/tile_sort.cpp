#include "samite/lang/tile_sort.h"

#include "samite/base/error.h"
#include "samite/ir/tile_rules.h"

namespace samite::lang {

ir::Value sort_order_of_tile(ir::Value keys, tile::SortOptions options, SourceLocation where) {
  const ScalarType type = keys.type().element();
  const int width = static_cast<int>(8 * size_of(type));
  if (options.bits < 0 || options.bits > width || (options.bits > 0 && (!is_integer(type) || options.descending)))
    throw UserError(where, "sort of " + std::to_string(options.bits) + " bits of keys of type " +
                               std::string(name(type)) + (options.descending ? ", descending" : "") +
                               "; integers have 1 to " + std::to_string(width) +
                               " bits that may differ, or 0 for any keys, in ascending order");
  const std::int32_t attribute = (options.descending ? ir::sort_descending : 0) | options.bits << 1;
  return record_tile({ir::Op::SortOrder, keys.type().of(ScalarType::Int32), {keys}, 0, attribute}, where);
}

ir::Value histogram_of_tile(ir::Value places, int bins, SourceLocation where) {
  if (bins < 1) throw UserError(where, "a histogram of " + std::to_string(bins) + " bins; expected at least 1");
  const ir::TileShape shape = places.type().shape();
  std::vector<std::int64_t> extents(shape.begin(), shape.end());
  extents.back() = bins;
  const ir::Value ones = ir::Value::constant(places.type(), std::int64_t{1});
  return record_tile({ir::Op::PutAdd, {ScalarType::Int32, ir::TileShape(extents)}, {ones, places}}, where);
}

ir::Value take_of_tile(ir::Value x, ir::Value places, SourceLocation where) {
  ir::Operation take{ir::Op::Take, places.type().of(x.type().element()), {x, places}};
  if (!ir::tile_type_error(take).empty())
    throw UserError(where, "take of a tile of extents " + x.type().shape().to_string() + " by places of extents " +
                               places.type().shape().to_string() + "; all but the last must be equal");
  return record_tile(std::move(take), where);
}

ir::Value first_of_rows(ir::Value x, int count, SourceLocation where) {
  const ir::TileShape shape = x.type().shape();
  std::vector<std::int64_t> extents(shape.begin(), shape.end());
  if (count < 1 || count > extents.back())
    throw UserError(where, "the first " + std::to_string(count) + " of rows of a tile of extents " + shape.to_string() +
                               "; there are 1 to " + std::to_string(extents.back()));
  extents.back() = count;
  ir::Operation window{ir::Op::Window, {x.type().element(), ir::TileShape(extents)}, {x}};
  window.operands.resize(1 + extents.size(), ir::Value::constant(ScalarType::Int32, std::int64_t{0}));
  return record_tile(std::move(window), where);
}

void check_values_of_keys(const ir::Type &keys, const ir::Type &values, SourceLocation where) {
  if (keys.shape() != values.shape())
    throw UserError(where, "sort of keys of extents " + keys.shape().to_string() + " and values of extents " +
                               values.shape().to_string() +
                               "; there is a value for each key (tile::argsort and tile::take sort anything else)");
}

}  // namespace samite::lang
