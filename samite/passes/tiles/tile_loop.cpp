#include "samite/passes/tiles/tile_loop.h"

#include "samite/base/error.h"
#include "samite/ir/tile_rules.h"
#include "samite/ir/visit.h"
#include "samite/passes/analysis/index_number.h"

namespace samite::passes {

using namespace ir;

std::span<const Value> access_indices(const Stmt &stmt) {
  if (auto *let = stmt.as<Let>()) return element_indices(let->value);
  if (auto *store = stmt.as<Store>()) return store->indices;
  return stmt.as<Accumulate>()->indices;
}

TileLoop::TileLoop(Builder &build, const TileMemories &memories, TileShape shape, bool flat, bool with_coordinates)
    : build_(build), memories_(memories), shape_(shape), flat_(flat || !with_coordinates) {
  levels_.resize(flat_ ? 2 : static_cast<std::size_t>(shape.rank()) + 1);
  for (std::size_t level = 1; level < levels_.size(); ++level)
    levels_[level].index = Value::local(ScalarType::Int32, build_.new_local());
}

// Appended at the start of the loops of this level, or to the body of the innermost one.
Value TileLoop::at(std::size_t level, Operation operation) {
  Block outer = build_.close(std::move(levels_[level].block));
  const Value value = build_.operation(std::move(operation));
  levels_[level].block = build_.close(std::move(outer));
  return value;
}
Value TileLoop::at(std::size_t level, Op op, std::initializer_list<Value> operands) {
  Block outer = build_.close(std::move(levels_[level].block));
  const Value value = build_(op, operands);
  levels_[level].block = build_.close(std::move(outer));
  return value;
}

Value TileLoop::coordinate(int dimension, const Type &type) {
  auto known = coordinates_.find({dimension, type.element()});
  if (known != coordinates_.end()) return known->second;
  Value value = *levels_[level_of(dimension)].index;
  if (flat_ && shape_.rank() > 1) {
    std::int64_t within = 1;
    for (int d = dimension + 1; d < shape_.rank(); ++d) within *= shape_[d];
    value = at(1, Op::Div, {value, index_number(within)});
    if (dimension > 0) value = at(1, Op::Rem, {value, index_number(shape_[dimension])});
  }
  if (type.element() != value.type().element()) value = at(level_of(dimension), {Op::Cast, type.element(), {value}});
  coordinates_.emplace(std::pair{dimension, type.element()}, value);
  return value;
}

// The row-major place in a tile of these extents. Each term is hoisted as far as possible.
Value TileLoop::place_in(const TileShape &shape, const std::function<Value(int)> &index) {
  Value place = index_number(0);
  std::int64_t stride = shape.count();
  for (int d = 0; d < shape.rank(); ++d) {
    stride /= shape[d];
    if (shape[d] == 1) continue;
    const std::size_t level = flat_ ? 1 : level_of(d);
    place = at(level, Op::Add, {place, at(level, Op::Mul, {index(d), index_number(stride)})});
  }
  return place;
}

Value TileLoop::place() {
  if (place_) return *place_;
  place_ = flat_ ? *levels_[1].index : place_in(shape_, [&](int d) { return coordinate(d, ScalarType::Int32); });
  return *place_;
}

Value TileLoop::read(const TileMemory &memory, Value place) {
  return at(innermost(), {Op::LocalLoad, memory.type.element(), {place}, memory.array});
}

Value TileLoop::element(const Value &tile) {
  if (!tile.type().is_tile()) return tile;
  if (tile.is_constant()) return Value::from_bits(tile.type().element(), tile.bits());
  auto known = elements_.find(tile.id());
  if (known != elements_.end()) return known->second;
  if (const Operation *made = memories_.made_again(tile)) {
    if (made->op == Op::Coordinate) return coordinate(made->attribute, made->type);
    if (made->op == Op::Broadcast) return made->operands[0];
    Operation own{made->op, made->type.element(), {}};
    for (const Value &operand : made->operands) own.operands.push_back(element(operand));
    return elements_.emplace(tile.id(), at(innermost(), std::move(own))).first->second;
  }
  const auto memory = memories_.memory(tile);
  internal_check(memory.has_value(), "a tile is read that is not in memory");
  const Value value = read(*memory, place());
  elements_.emplace(tile.id(), value);
  return value;
}

// The element of its operand that an operation that moves elements reads.
Value TileLoop::operand_element(const Operation &operation, std::size_t i) {
  const Value &operand = operation.operands[i];
  if (!operand.type().is_tile() || operand.is_constant()) return element(operand);
  const auto memory = memories_.memory(operand);
  internal_check(memory.has_value(), "a tile is read that is not in memory");
  const TileShape from = operand.type().shape();
  auto index = [&](int d) -> Value {
    if (operation.op == Op::Broadcast) return coordinate(d, ScalarType::Int32);
    for (int result = 0; result < shape_.rank(); ++result)
      if (tile_axis(operation.attribute, result) == d) return coordinate(result, ScalarType::Int32);
    throw InternalError("a transpose without one of its dimensions");
  };
  Value place = index_number(0);
  std::int64_t stride = from.count();
  for (int d = 0; d < from.rank(); ++d) {
    stride /= from[d];
    if (from[d] == 1) continue;
    place = at(innermost(), Op::Add, {place, at(innermost(), Op::Mul, {index(d), index_number(stride)})});
  }
  return read(*memory, place);
}

TileLoop::Element TileLoop::array_element(std::uint32_t array, const std::vector<Value> &indices, const Type &type) {
  const bool gather = is_gather(indices);
  const int rank = static_cast<int>(indices.size()), from = rank - type.shape().rank();
  Element element{{}, Value::boolean(true)};
  for (int d = 0; d < rank; ++d) {
    const Value &index = indices[static_cast<std::size_t>(d)];
    std::size_t level = 0;
    Value own = index;
    if (gather) {
      level = index.type().is_tile() ? innermost() : 0;
      own = this->element(index);
    } else if (d >= from && type.is_tile()) {
      level = level_of(d - from);
      own = at(level, Op::Add, {index, coordinate(d - from, index.type())});
    }
    const Value extent = at(0, {Op::Extent, own.type(), {}, array, d});
    const Value reached = at(level, Op::GreaterEqual, {own, Value::zero(own.type())});
    const Value inside = at(level, Op::And, {reached, at(level, Op::Less, {own, extent})});
    element.indices.push_back(own);
    // Dimensions come in order, so that outer conditions are combined outside.
    element.inside = at(gather ? innermost() : level, Op::And, {element.inside, inside});
  }
  return element;
}

// Zero if the element is outside.
Value TileLoop::guarded(const Element &element, const Operation &access) {
  std::vector<Value> operands = element.indices;
  for (const Value &value : element_values(access)) operands.push_back(this->element(value));
  Block outer = build_.close({});
  const Value taken =
      build_.operation({access.op, access.type.element(), std::move(operands), access.array, access.attribute});
  Block inside = build_.close(std::move(outer));
  const LocalId result = build_.new_local();
  If branch{element.inside, std::move(inside), {}, {}};
  branch.results.push_back({result, access.type.element(), taken, Value::zero(access.type.element())});
  levels_[innermost()].block.push_back({std::move(branch), build_.where()});
  return Value::local(access.type.element(), result);
}

Value TileLoop::window(const Operation &operation) {
  const Value &operand = operation.operands[0];
  const TileShape from = operand.type().shape();
  Value inside = Value::boolean(true), place = index_number(0);
  std::int64_t stride = from.count();
  for (int d = 0; d < from.rank(); ++d) {
    stride /= from[d];
    const std::size_t level = level_of(d);
    const Value offset = build_.cast(ScalarType::Int32, operation.operands[static_cast<std::size_t>(d) + 1]);
    const Value own = at(level, Op::Add, {coordinate(d, ScalarType::Int32), offset});
    const Value reached = at(level, Op::GreaterEqual, {own, index_number(0)});
    const Value here = at(level, Op::And, {reached, at(level, Op::Less, {own, index_number(from[d])})});
    inside = at(level, Op::And, {inside, here});
    place = at(level, Op::Add, {place, at(level, Op::Mul, {own, index_number(stride)})});
  }
  return element_inside(operand, inside, place);
}

Value TileLoop::take(const Operation &operation) {
  const Value &operand = operation.operands[0];
  const TileShape from = operand.type().shape();
  const int last = from.rank() - 1;
  const Value own = element(operation.operands[1]);
  const Value reached = at(innermost(), Op::GreaterEqual, {own, index_number(0)});
  const Value inside = at(innermost(), Op::And, {reached, at(innermost(), Op::Less, {own, index_number(from[last])})});
  const Value place = place_in(from, [&](int d) { return d == last ? own : coordinate(d, ScalarType::Int32); });
  return element_inside(operand, inside, place);
}

// Zero if it is not inside.
Value TileLoop::element_inside(const Value &operand, const Value &inside, const Value &place) {
  const ScalarType type = operand.type().element();
  Value taken = element(operand.is_constant() ? operand : Value::zero(operand.type()));
  Block inner;
  if (!operand.is_constant()) {
    Block outer = build_.close({});
    taken = build_.operation({Op::LocalLoad, type, {place}, memories_.memory(operand)->array});
    inner = build_.close(std::move(outer));
  }
  const LocalId result = build_.new_local();
  If branch{inside, std::move(inner), {}, {}};
  branch.results.push_back({result, type, taken, Value::zero(type)});
  levels_[innermost()].block.push_back({std::move(branch), build_.where()});
  return Value::local(type, result);
}

void TileLoop::operation(const Let &let, SourceLocation where) {
  build_.at(where);
  const Operation &operation = let.value;
  const Type &type = operation.type;
  auto define = [&](Value value) { elements_.insert_or_assign(let.local, value); };
  if (const Typing typing = info(operation.op).typing; typing == Typing::Load || typing == Typing::Atomic) {
    const auto indices = element_indices(operation);
    return define(guarded(array_element(operation.array, {indices.begin(), indices.end()}, type), operation));
  }
  switch (operation.op) {
    case Op::Coordinate: return define(coordinate(operation.attribute, type));
    case Op::Broadcast:
    case Op::Transpose: return define(operand_element(operation, 0));
    case Op::Window: return define(window(operation));
    case Op::Take: return define(take(operation));
    case Op::LocalLoad: {
      const Type counter = operation.operands[0].type();
      const Value begin = at(0, Op::Mul, {operation.operands[0], Value::constant(counter, shape_.count())});
      const Value index = at(innermost(), Op::Add, {begin, at(innermost(), {Op::Cast, begin.type(), {place()}})});
      return define(at(innermost(), {Op::LocalLoad, type.element(), {index}, operation.array}));
    }
    default: break;
  }
  Operation each{operation.op, type.element(), {}, operation.array, operation.attribute};
  for (const Value &operand : operation.operands) each.operands.push_back(element(operand));
  define(at(innermost(), std::move(each)));
}

void TileLoop::store(const Store &store, SourceLocation where) {
  build_.at(where);
  const Element to = array_element(store.array, store.indices, store.value.type());
  const Value value = element(store.value);
  If branch{to.inside, {{Store{store.array, to.indices, value}, where}}, {}, {}};
  levels_[innermost()].block.push_back({std::move(branch), where});
}

void TileLoop::accumulate(const Accumulate &accumulate, SourceLocation where) {
  build_.at(where);
  const Element to = array_element(accumulate.array, accumulate.indices, accumulate.value.type());
  const Value value = element(accumulate.value);
  If branch{to.inside, {{Accumulate{accumulate.array, to.indices, value, accumulate.atomic}, where}}, {}, {}};
  levels_[innermost()].block.push_back({std::move(branch), where});
}

void TileLoop::local_store(const LocalStore &store, SourceLocation where) {
  build_.at(where);
  const Type type = store.index.type();
  const Value begin = at(0, Op::Mul, {store.index, Value::constant(type, shape_.count())});
  const Value index = at(innermost(), Op::Add, {begin, at(innermost(), {Op::Cast, type, {place()}})});
  const Value value = element(store.value);
  levels_[innermost()].block.push_back({LocalStore{store.array, index, value}, where});
}

void TileLoop::close(SourceLocation where, LoopKind kind_of_innermost) {
  for (const auto &[tile, memory] : kept_) {
    const Value value = element(tile), index = place();
    levels_[innermost()].block.push_back({LocalStore{memory.array, index, value}, where});
  }
  Block body = std::move(levels_.back().block);
  for (std::size_t level = levels_.size() - 1; level > 0; --level) {
    const std::int64_t end = flat_ ? shape_.count() : shape_[static_cast<int>(level) - 1];
    const LoopKind kind = level == levels_.size() - 1 ? kind_of_innermost : LoopKind::Serial;
    For loop{levels_[level].index->id(),
             ScalarType::Int32,
             index_number(0),
             index_number(end),
             index_number(1),
             std::move(body),
             {},
             kind};
    body = std::move(levels_[level - 1].block);
    body.push_back({std::move(loop), where});
  }
  for (Stmt &stmt : body) build_.append(std::move(stmt));
}

}  // namespace samite::passes
