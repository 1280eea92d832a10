#include "samite/passes/tiles/within_array.h"

#include <optional>

namespace samite::passes {

using namespace ir;

Value within_array(Builder &build, const Value &tile, const std::vector<Value> &place,
                   const std::vector<Value> &extents) {
  const TileShape shape = tile.type().shape();
  const Type type = Type(ScalarType::Int64, shape), truth(ScalarType::Bool, shape);
  const auto spread = [&](const Value &number, const Type &tile) {
    return build.operation({Op::Broadcast, tile, {number}});
  };
  std::optional<Value> inside;
  const auto demand = [&](const Value &condition) {
    inside = inside ? build(Op::And, {*inside, condition}) : condition;
  };
  const int rank = static_cast<int>(place.size()), from = rank - shape.rank();
  for (int d = 0; d < rank; ++d) {
    const Value index = build.cast(ScalarType::Int64, place[static_cast<std::size_t>(d)]);
    const Value extent = build.cast(ScalarType::Int64, extents[static_cast<std::size_t>(d)]);
    if (d < from) {
      const Value low = build(Op::GreaterEqual, {index, Value::zero(index.type())});
      demand(spread(build(Op::And, {low, build(Op::Less, {index, extent})}), truth));
      continue;
    }
    const Value coordinate = build.operation({Op::Coordinate, type, {}, 0, d - from});
    const Value below = build(Op::Sub, {Value::zero(index.type()), index});
    demand(build.operation({Op::GreaterEqual, truth, {coordinate, spread(below, type)}}));
    demand(build.operation({Op::Less, truth, {coordinate, spread(build(Op::Sub, {extent, index}), type)}}));
  }
  return build.select(*inside, tile, Value::zero(tile.type()));
}

}  // namespace samite::passes
