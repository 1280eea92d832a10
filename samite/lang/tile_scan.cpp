#include "samite/lang/tile_scan.h"

#include "samite/base/error.h"

namespace samite::lang {
namespace {

std::int32_t way_along(int dimension, bool backwards, const ir::Type &type, SourceLocation where) {
  return tile_dimension(dimension, type, where) | (backwards ? ir::scan_backwards : 0);
}

ir::Op scan_of(tile::Combine combine) {
  switch (combine) {
    case tile::Combine::product: return ir::Op::ScanMul;
    case tile::Combine::min: return ir::Op::ScanMin;
    case tile::Combine::max: return ir::Op::ScanMax;
    default: return ir::Op::ScanAdd;
  }
}

}  // namespace

ir::Value scan_tile(ir::Value x, int dimension, tile::ScanOptions options, bool exclusive, SourceLocation where) {
  const std::int32_t way = way_along(dimension, options.backwards, x.type(), where);
  return record_tile({scan_of(options.combine), x.type(), {x}, 0, way | (exclusive ? ir::scan_exclusive : 0)}, where);
}

ir::Value recur_tile(ir::Value a, ir::Value b, int dimension, bool backwards, SourceLocation where) {
  const std::int32_t way = way_along(dimension, backwards, b.type(), where);
  if (a.type() != b.type())
    throw UserError(where, "a linear recurrence of factors of extents " + a.type().shape().to_string() +
                               " and what is added to them of extents " + b.type().shape().to_string() +
                               "; there must be one of each for each element (tile::broadcast repeats)");
  return record_tile({ir::Op::ScanLinear, b.type(), {a, b}, 0, way}, where);
}

}  // namespace samite::lang
