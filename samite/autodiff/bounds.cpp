// The length of the tapes of a while_: the iterations that its condition allows, if a counter bounds them, or a counted
// run of the loop. A `for` with a break is such a while_, and runs at most as often as the `for`.
#include "samite/autodiff/deriver.h"

#include <algorithm>
#include <limits>
#include <set>

namespace samite::autodiff {

using namespace ir;

namespace {

// The operations of a block that are all true if `condition` is.
void for_each_term(const Block &block, const Value &condition, const std::function<void(const Operation &)> &f) {
  if (!condition.is_local()) return;
  for (const Stmt &stmt : block) {
    auto *let = stmt.as<Let>();
    if (!let || let->local != condition.id()) continue;
    if (let->value.op != Op::And) return f(let->value);
    for (const Value &operand : let->value.operands) for_each_term(block, operand, f);
  }
}

Op mirrored(Op op) {
  switch (op) {
    case Op::Less: return Op::Greater;
    case Op::LessEqual: return Op::GreaterEqual;
    case Op::Greater: return Op::Less;
    case Op::GreaterEqual: return Op::LessEqual;
    default: return op;
  }
}

// The last number from which a counter of this type can step without overflow.
std::int64_t last_before_wrap(ScalarType type, std::int64_t step) {
  const bool is_signed = class_of(type) == ScalarClass::Signed;
  const auto bits = static_cast<int>(8 * size_of(type)) - (is_signed ? 1 : 0);
  const std::int64_t largest = bits == 63 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t{1} << bits) - 1;
  return step > 0 ? largest - step : -largest - 1 - step;
}

// A term `counter op end` of a condition.
struct Limit {
  const Carried *counter;
  Op op;
  Value end;
};

// The limits that a term sets. A comparison sets one for each side.
std::vector<Limit> limits(const Operation &term, const std::vector<Carried> &carried) {
  std::vector<Limit> found;
  if (info(term.op).typing != Typing::Compare || !is_integer(term.operands[0].type())) return found;
  for (const Carried &c : carried) {
    const Value counter = Value::local(c.type, c.inner);
    if (term.operands[0] == counter) found.push_back({&c, term.op, term.operands[1]});
    if (term.operands[1] == counter) found.push_back({&c, mirrored(term.op), term.operands[0]});
  }
  return found;
}

bool counts_up(Op op) { return op == Op::Less || op == Op::LessEqual; }
bool counts_down(Op op) { return op == Op::Greater || op == Op::GreaterEqual; }

// Whether the counter reaches the end, over a distance that is exact in i64 or too large for any tape.
bool arrives(const Limit &limit, std::int64_t step) {
  if (!(counts_up(limit.op) ? step > 0 : counts_down(limit.op) && step < 0)) return false;
  const Value &first = limit.counter->initial;
  return size_of(limit.counter->type) < 8 ||
         (limit.counter->type == ScalarType::Int64 && step > 0 && first.is_constant() && first.as_int() >= 0);
}

}  // namespace

// A bound of the loop's iterations, an i64 computed before the loop. It comes from a term of its condition: a counter
// that moves by a constant step to a limit that the loop does not change.
std::optional<Value> Deriver::most_iterations(const While &loop) {
  std::set<LocalId> inside;
  for (const Carried &c : loop.carried) inside.insert(c.inner);
  for (const Block *block : {&loop.condition_block, &loop.body})
    for_each_statement(*block, [&](const Stmt &stmt) {
      for_each_definition(stmt, [&](LocalId local, ScalarType) { inside.insert(local); });
    });
  std::optional<Value> bound;
  for_each_term(loop.condition_block, loop.condition, [&](const Operation &term) {
    for (const Limit &limit : limits(term, loop.carried)) {
      const auto step = counter_step(*limit.counter, loop.body);
      const bool moves = limit.end.is_local() && inside.contains(limit.end.id());
      if (bound || moves || !step || !arrives(limit, step->as_int())) continue;
      bound = most_iterations(*limit.counter, step->as_int(), limit.op, limit.end);
    }
  });
  return bound;
}

Value Deriver::most_iterations(const Carried &counter, std::int64_t step, Op op, const Value &end) {
  auto number = [](std::int64_t n) { return Value::constant(ScalarType::Int64, n); };
  const Value from = build_.cast(ScalarType::Int64, value(counter.initial));
  const Value to = build_.cast(ScalarType::Int64, value(end));
  const std::int64_t size = step < 0 ? -step : step;
  const bool up = step > 0, end_too = op == Op::LessEqual || op == Op::GreaterEqual;
  const Value distance = up ? build_(Op::Sub, {to, from}) : build_(Op::Sub, {from, to});
  const Value padded = build_(Op::Add, {distance, number(end_too ? size : size - 1)});
  const Value bound = build_(Op::Max, {build_(Op::Div, {padded, number(size)}), number(0)});
  if (size == 1 && !end_too) return bound;
  const Value last = number(last_before_wrap(counter.type, step));
  const Value ends = build_(up ? Op::LessEqual : Op::GreaterEqual, {to, last});
  return build_.select(ends, bound, number(std::numeric_limits<std::int64_t>::max()));
}

// An upper bound of an iteration's bytes on tapes, assuming some elements for an array whose size is known only at
// launch.
std::int64_t Deriver::tape_bytes(const While &loop) const {
  constexpr std::int64_t index_bytes = 4;
  std::int64_t sum = 0;
  for (const Carried &c : loop.carried)
    if (keep_.local[c.inner]) sum += static_cast<std::int64_t>(size_of(c.type)) * c.type.count();
  for (const LocalWrites &w : logged_writes({&loop.body})) {
    const LocalArray &array = *arrays_.latest[w.array];
    const auto element = static_cast<std::int64_t>(size_of(array.type)) * array.type.count();
    const bool copied = w.in_loop || cheaper_to_copy(w, index_bytes);
    const std::int64_t elements = array.size.is_constant() ? array.size.as_int() : Keep::some_elements;
    sum += copied ? element * elements : w.stores * (element + index_bytes);
  }
  return std::max<std::int64_t>(sum, 1);
}

// Called before the loop. Runs the loop to count its iterations if there is no bound, or if the bound would waste
// memory.
Deriver::TapeLength Deriver::tape_length(const While &loop, SourceLocation where) {
  const std::optional<Value> bound = most_iterations(loop);
  if (!bound) return {count_iterations(loop, where)};
  constexpr std::int64_t most_of_all = std::numeric_limits<std::int32_t>::max();
  const std::int64_t most = std::min(keep_.tape_limit / tape_bytes(loop), most_of_all);
  const Value few = build_(Op::LessEqual, {*bound, Value::constant(ScalarType::Int64, most)});
  const Value length = build_.cast(ScalarType::Int32, *bound);
  if (few.is_constant()) return few.bits() ? TapeLength{length, few} : TapeLength{count_iterations(loop, where)};
  If counted{few, {}, {}, {}};
  Block outer = build_.open();
  const Value count = count_iterations(loop, where);
  counted.else_block = build_.close(std::move(outer));
  const Value either = Value::local(ScalarType::Int32, build_.new_local());
  counted.results.push_back({either.id(), ScalarType::Int32, length, count});
  build_.append({std::move(counted), where});
  return {either, few};
}

// Runs the loop, and restores local arrays.
Value Deriver::count_iterations(const While &loop, SourceLocation where) {
  UndoLog before;
  for (const LocalWrites &w : local_writes({&loop.condition_block, &loop.body}))
    if (arrays_.held[w.array]) before.push_back({copy_of(w.array)});
  Value count = run(loop, where, std::nullopt);
  take_back(before);
  return count;
}

}  // namespace samite::autodiff
