// The code is captured once, for one thread, and rewritten as operations on tiles: values that differ between the
// elements become tiles, others stay numbers.
#include "samite/lang/tile_threads.h"

#include "samite/base/error.h"
#include "samite/ir/visit.h"
#include "samite/lang/trace.h"

#include <unordered_map>
#include <unordered_set>

namespace samite::lang {
namespace {

using namespace ir;
using Mask = std::optional<Value>;  // the elements that run the current code; none: all of them

// Operations that are defined for every number, with derivatives that are too.
bool never_singular(Op op) {
  switch (op) {
    case Op::Copy:
    case Op::Cast:
    case Op::Select:
    case Op::Neg:
    case Op::Add:
    case Op::Sub:
    case Op::Min:
    case Op::Max:
    case Op::Abs:
    case Op::StopGradient: return true;
    default: return info(op).typing == Typing::Compare || info(op).typing == Typing::Bits;
  }
}

bool element_by_element(Op op) {
  switch (info(op).typing) {
    case Typing::Same:
    case Typing::Floating:
    case Typing::Integer:
    case Typing::Bits:
    case Typing::Compare:
    case Typing::Select:
    case Typing::Cast:
    case Typing::Copy: return op != Op::Unavailable;
    default: return false;
  }
}

class Widener {
 public:
  Widener(Trace &trace, const TileShape &shape, const Block &code, const std::vector<Value> &results)
      : trace_(trace), shape_(shape) {
    auto read = [&](const Value &value) {
      if (value.is_local()) read_.insert(value.id());
    };
    for (const Value &result : results) read(result);
    for_each_statement(code, [&](const Stmt &stmt) {
      for_each_operand(stmt, read);
      if (auto *assign = stmt.as<Assign>()) assigned_.insert(assign->local);
      for_each_definition(stmt, [&](LocalId local, ScalarType) { inside_.insert(local); });
    });
  }

  void define(LocalId local, Value value) { known_.insert_or_assign(local, value); }

  Value operator()(const Value &value) const {
    auto found = value.is_local() ? known_.find(value.id()) : known_.end();
    return found == known_.end() ? value : found->second;
  }

  Value as_tile(const Value &value) const {
    if (value.type().is_tile()) return value;
    const Type whole(value.type().element(), shape_);
    return value.is_constant() ? Value::from_bits(whole, value.bits())
                               : record_tile({Op::Broadcast, whole, {value}}, where_);
  }

  void block(const Block &block, const Mask &mask) {
    for (const Stmt &stmt : block) {
      where_ = stmt.where();
      visit(
          stmt, [&](const Let &let) { this->let(let, mask); }, [&](const Assign &a) { assign(a, mask); },
          [&](const Store &store) {
            trace_.append({Store{store.array, elements(store.indices, mask), as_tile((*this)(store.value))}, where_});
          },
          [&](const Accumulate &a) {
            trace_.append(
                {Accumulate{a.array, elements(a.indices, mask), as_tile((*this)(a.value)), a.atomic}, where_});
          },
          [&](const If &branch) { this->branch(branch, mask); }, [&](const For &loop) { this->loop(loop, mask); },
          [&](const While &loop) { this->loop(loop, mask); },
          [&](const Labelled &) { refuse("break_, continue_ and return_ leave code of one thread while others stay"); },
          [&](const Leave &) { refuse("break_, continue_ and return_ leave code of one thread while others stay"); },
          [&](const Allocate &) { refuse("a local array"); }, [&](const LocalStore &) { refuse("a local array"); },
          [&](const Print &) { refuse("print"); }, [&](const Check &) { refuse("check"); },
          [&](const auto &) { refuse("an adjoint of the user's own"); });
    }
  }

 private:
  [[noreturn]] void refuse(const std::string &what) const {
    throw UserError(where_, what +
                                " in tile::per_thread, whose code is that of all elements of a tile at once; write "
                                "it with conditions (if_, select, while_), or in a Kernel, whose function is about "
                                "one thread");
  }

  Value elementwise(Op op, ScalarType result, std::vector<Value> operands) const {
    return record_on_tiles(op, result, std::move(operands), where_);
  }
  Value with(const Mask &mask, Value condition) const {
    condition = as_tile(condition);
    return mask ? elementwise(Op::And, ScalarType::Bool, {*mask, condition}) : condition;
  }

  // Indices of elements, which are outside of the array for elements that do not run the code.
  std::vector<Value> elements(const std::vector<Value> &indices, const Mask &mask) const {
    std::vector<Value> values;
    for (const Value &index : indices) values.push_back((*this)(index));
    values[0] = as_tile(values[0]);
    if (mask)
      values[0] = elementwise(Op::Select, values[0].type(), {*mask, values[0], Value::constant(values[0].type(), -1)});
    return values;
  }

  // A number for which every operation and its derivative is defined, for elements that do not run the code: their
  // gradient is zero, and zero times infinity would be NaN.
  Value harmless(Op op, const Value &value, const Mask &mask) const {
    const Type type = value.type();
    const bool divisor = (info(op).typing == Typing::Integer && info(op).arity == 2) || op == Op::Div;
    if (!mask || never_singular(op) || !(is_floating(type) || divisor)) return value;
    const Value other =
        is_floating(type) ? Value::constant(type, op == Op::Acosh ? 2.0 : 0.5) : Value::constant(type, 1);
    return elementwise(Op::Select, type, {*mask, value, other});
  }

  void let(const Let &let, const Mask &mask) {
    const Operation &from = let.value;
    std::vector<Value> operands;
    bool differs = false, of_tiles = from.type.is_tile();
    for (const Value &operand : from.operands) of_tiles = of_tiles || operand.type().is_tile();
    if (of_tiles) refuse("an operation on a tile");
    if (from.op == Op::AtomicAdd && !read_.contains(let.local)) {
      const std::vector<Value> indices(from.operands.begin(), from.operands.end() - 1);
      trace_.append(
          {Accumulate{from.array, elements(indices, mask), as_tile((*this)(from.operands.back())), true}, where_});
      return;
    }
    for (const Value &operand : from.operands) {
      operands.push_back((*this)(operand));
      differs = differs || operands.back().type().is_tile();
    }
    define(let.local, result(from, std::move(operands), differs, mask));
    // Later assigned values may then differ between the elements.
    if (!assigned_.contains(let.local)) return;
    const Value first = as_tile(known_.at(let.local));
    define(let.local, record_tile({Op::Copy, first.type(), {first}}, where_));
  }

  Value result(const Operation &from, std::vector<Value> operands, bool differs, const Mask &mask) const {
    if (from.op == Op::Load) {
      if (!differs && !mask) return trace_.let({from.op, from.type, operands, from.array, from.attribute}, where_);
      return record_tile({from.op, Type(from.type.element(), shape_), elements(from.operands, mask), from.array},
                         where_);
    }
    if (from.op == Op::LocalLoad) refuse("a local array");
    if (!info(from.op).pure) refuse("an atomic operation that gives the element before");
    if (!differs) return trace_.let({from.op, from.type, std::move(operands), from.array, from.attribute}, where_);
    if (!element_by_element(from.op))
      refuse("'" + std::string(info(from.op).name) + "' of what differs between the elements");
    for (Value &operand : operands) operand = harmless(from.op, operand, mask);
    return elementwise(from.op, from.type.element(), std::move(operands));
  }

  void assign(const Assign &assign, const Mask &mask) {
    if (!inside_.contains(assign.local)) refuse("assigning a number of the block");
    assign_tile(known_.at(assign.local), (*this)(assign.value), mask);
  }
  void assign_tile(const Value &variable, Value value, const Mask &mask) const {
    value = mask ? elementwise(Op::Select, variable.type().element(), {*mask, value, variable}) : as_tile(value);
    trace_.assign(variable.id(), value, where_);
  }

  Block nested(const Block &code, const Mask &mask) {
    const std::size_t depth = trace_.open_block(where_);
    block(code, mask);
    return trace_.close_block(depth);
  }

  void branch(const If &branch, const Mask &mask) {
    const Value condition = (*this)(branch.condition);
    const SourceLocation where = where_;
    if (condition.type().is_tile()) {
      block(branch.then_block, with(mask, condition));
      where_ = where;
      if (branch.else_block.empty()) return;
      block(branch.else_block, with(mask, elementwise(Op::Not, ScalarType::Bool, {condition})));
      return;
    }
    If again{condition, nested(branch.then_block, mask), {}, {}};
    where_ = where;
    again.else_block = nested(branch.else_block, mask);
    trace_.append({std::move(again), where});
  }

  // Whether the condition holds for any element; a loop of all elements continues while it does.
  Value any(const Value &condition) const {
    const Value count = elementwise(Op::Cast, ScalarType::Int32, {as_tile(condition)});
    const Value most = record_tile({Op::ReduceMax, ScalarType::Int32, {count}}, where_);
    return record(Op::NotEqual, ScalarType::Bool, {most, Value::zero(ScalarType::Int32)}, where_);
  }

  void loop(const For &loop, const Mask &mask) {
    const SourceLocation where = where_;
    const Value begin = (*this)(loop.begin), end = (*this)(loop.end);
    if (!begin.type().is_tile() && !end.type().is_tile()) {
      const std::size_t depth = trace_.open_block(where);
      const LocalId index = trace_.new_local();
      define(loop.index, Value::local(loop.type, index));
      block(loop.body, mask);
      trace_.append(
          {For{index, loop.type, begin, end, loop.step, trace_.close_block(depth), {}, LoopKind::Serial}, where});
      return;
    }
    const Value first = as_tile(begin), index = record_tile({Op::Copy, first.type(), {first}}, where);
    define(loop.index, index);
    const std::size_t depth = trace_.open_block(where);
    const Op before = loop.step.as_int() > 0 ? Op::Less : Op::Greater;
    const Value inside = with(mask, elementwise(before, ScalarType::Bool, {index, end})), goes_on = any(inside);
    const std::size_t body = trace_.open_block(where);
    block(loop.body, inside);
    where_ = where;
    assign_tile(index, next_index(loop, index, as_tile(end)), inside);
    close_while(depth, body, goes_on);
  }

  // If another step would go beyond the end, and perhaps beyond the largest number, the index ends there.
  Value next_index(const For &loop, const Value &index, const Value &end) {
    const ScalarType type = loop.type.element();
    const std::int64_t step = loop.step.as_int();
    const Value next = elementwise(Op::Add, type, {index, loop.step});
    if (step == 1 || step == -1) return next;
    const ScalarType distance = size_of(type) > 4 ? ScalarType::UInt64 : ScalarType::UInt32;
    const Value to_end = elementwise(Op::Sub, type, step > 0 ? std::vector{end, index} : std::vector{index, end});
    const Value size = Value::constant(distance, step > 0 ? step : -step);
    const Value more = elementwise(Op::Greater, ScalarType::Bool, {elementwise(Op::Cast, distance, {to_end}), size});
    return elementwise(Op::Select, type, {more, next, end});
  }

  void loop(const While &loop, const Mask &mask) {
    const SourceLocation where = where_;
    // An element that has left the loop stays outside.
    const Value all = mask ? *mask : Value::from_bits(Type(ScalarType::Bool, shape_), 1);
    const Value inside = record_tile({Op::Copy, all.type(), {all}}, where);
    const std::size_t depth = trace_.open_block(where);
    block(loop.condition_block, inside);
    where_ = where;
    const Value still_inside = with(inside, (*this)(loop.condition)), goes_on = any(still_inside);
    const std::size_t body = trace_.open_block(where);
    assign_tile(inside, still_inside, {});
    block(loop.body, still_inside);
    where_ = where;
    close_while(depth, body, goes_on);
  }

  void close_while(std::size_t depth, std::size_t body, const Value &goes_on) {
    const SourceLocation where = where_;
    Block statements = trace_.close_block(body);
    Block condition = trace_.close_block(depth);
    trace_.append({While{std::move(condition), goes_on, std::move(statements), {}}, where});
  }

  Trace &trace_;
  TileShape shape_;
  SourceLocation where_;
  std::unordered_map<LocalId, Value> known_;
  std::unordered_set<LocalId> assigned_, inside_, read_;
};

}  // namespace

ThreadCode::ThreadCode(std::optional<TileExtents> extents, SourceLocation where) : where_(where) {
  const Trace &trace = Trace::current(where);
  const TileExtents threads{trace.block_threads() == 0 ? 1 : trace.block_threads()};
  open(tile_type(ScalarType::Int32, extents ? *extents : threads, where).shape());
}

ThreadCode::ThreadCode(std::vector<Value> tiles, SourceLocation where) : where_(where), tiles_(std::move(tiles)) {
  open(tiles_[0].type().shape());
  for (const Value &tile : tiles_)
    elements_.push_back(Value::local(tile.type().element(), Trace::current(where).new_local()));
}

void ThreadCode::open(const TileShape &shape) {
  Trace &trace = Trace::current(where_);
  if (!trace.tiles())
    throw UserError(where_,
                    "tile::per_thread in a Kernel, whose function is about one thread already; it is for a "
                    "TileKernel, whose function is about a block of threads");
  shape_ = shape;
  depth_ = trace.open_block(where_);
  for (int d = 0; d < shape.rank(); ++d) indices_.push_back(Value::local(ScalarType::Int32, trace.new_local()));
}

void ThreadCode::check_indices(int indices) const {
  if (indices == shape_.rank()) return;
  throw UserError(where_, "tile::per_thread of extents " + shape_.to_string() + " with a function of " +
                              std::to_string(indices) + " indices; there is one for each dimension");
}

std::vector<Value> ThreadCode::close(const std::vector<Value> &results) {
  Trace &trace = Trace::current(where_);
  const Block code = trace.close_block(depth_);
  Widener widen(trace, shape_, code, results);
  for (int d = 0; d < shape_.rank(); ++d)
    widen.define(index(d).id(), record_tile({Op::Coordinate, Type(ScalarType::Int32, shape_), {}, 0, d}, where_));
  for (std::size_t i = 0; i < tiles_.size(); ++i) widen.define(elements_[i].id(), tiles_[i]);
  widen.block(code, std::nullopt);
  std::vector<Value> wholes;
  for (const Value &result : results) {
    const Value whole = widen.as_tile(widen(result));
    wholes.push_back(record_tile({Op::Copy, whole.type(), {whole}}, where_));
  }
  return wholes;
}

std::vector<Value> tiles_that_fit(std::vector<Value> tiles, SourceLocation where) {
  TileShape shape;
  for (const Value &tile : tiles) shape = shape_of_both(shape, tile.type().shape(), where);
  for (Value &tile : tiles)
    if (const Type whole(tile.type().element(), shape); tile.type() != whole)
      tile = record_tile({Op::Broadcast, whole, {tile}}, where);
  return tiles;
}

}  // namespace samite::lang
