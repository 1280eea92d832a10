#include "samite/lang/tile_masked.h"

#include "samite/base/error.h"
#include "samite/lang/trace.h"

namespace samite::lang {

std::vector<ir::Value> masked_origin(Indices first, const ir::Type &type, int rank, ir::Value mask,
                                     SourceLocation where) {
  std::vector<ir::Value> origin = view_origin(first, type, rank, {}, {}, false, where);
  ir::Value &index = origin[static_cast<std::size_t>(rank - type.shape().rank())];
  const ScalarType integer = index.type().element();
  index = record_on_tiles(ir::Op::Select, integer, {mask, index, ir::Value::constant(integer, -1)}, where);
  return origin;
}

void add_tile_to_gradient(std::uint32_t array, std::vector<ir::Value> indices, ir::Value value, SourceLocation where) {
  Trace &trace = Trace::current(where);
  internal_check(trace.in_adjoint(), "a tile is added to a gradient outside of an adjoint");
  trace.append({ir::Accumulate{array, std::move(indices), value, true, true}, where});
}

}  // namespace samite::lang
