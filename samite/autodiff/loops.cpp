// Reverses loops: the same iterations, the last one first.
#include "samite/autodiff/deriver.h"
#include "samite/base/error.h"

#include <algorithm>
#include <limits>
#include <ranges>

namespace samite::autodiff {

using namespace ir;

// The constant by which an integer local grows in each iteration, if it does nothing else.
std::optional<Value> Deriver::counter_step(const Carried &c, const Block &body) {
  if (!is_integer(c.type) || !c.next.is_local()) return std::nullopt;
  for (const Stmt &stmt : body) {
    auto *let = stmt.as<Let>();
    if (!let || let->local != c.next.id() || let->value.op != Op::Add) continue;
    const Value &a = let->value.operands[0], &b = let->value.operands[1];
    if (a == Value::local(c.type, c.inner) && b.is_constant()) return b;
    if (b == Value::local(c.type, c.inner) && a.is_constant()) return a;
  }
  return std::nullopt;
}

namespace {

std::int64_t least_number(Type type) {
  return type == ScalarType::Int64 ? std::numeric_limits<std::int64_t>::min()
                                   : std::numeric_limits<std::int32_t>::min();
}
std::int64_t greatest_number(Type type) {
  return type == ScalarType::Int64 ? std::numeric_limits<std::int64_t>::max()
                                   : std::numeric_limits<std::int32_t>::max();
}

}  // namespace

// A lower bound of a signed integer of the primal kernel.
std::int64_t Deriver::least(const Value &primal) const {
  const std::int64_t lowest = least_number(primal.type());
  if (primal.is_constant()) return primal.as_int();
  if (!primal.is_local()) return lowest;
  if (const For *loop = locals_.range_of[primal.id()]) {
    if (!loop->step.is_constant()) return lowest;
    if (loop->step.as_int() > 0) return least(loop->begin);
    const std::int64_t end = least(loop->end);
    return end == greatest_number(primal.type()) ? end : end + 1;
  }
  const Operation *operation = locals_.operation_of[primal.id()];
  if (!operation || operation->type != primal.type()) return lowest;
  const auto &operands = operation->operands;
  switch (operation->op) {
    case Op::ThreadIndex:
    case Op::Extent: return 0;
    case Op::Copy: return least(operands[0]);
    case Op::Max: return std::max(least(operands[0]), least(operands[1]));
    case Op::Min: return std::min(least(operands[0]), least(operands[1]));
    case Op::Add: {
      // An index is below the end of its loop, so adding one does not overflow.
      if (!operands[0].is_local() || !operands[1].is_constant() || operands[1].as_int() != 1) return lowest;
      const For *range = locals_.range_of[operands[0].id()];
      const Operation *of = locals_.operation_of[operands[0].id()];
      const bool is_index = (range && range->step.is_constant() && range->step.as_int() > 0) ||
                            (of && of->op == Op::ThreadIndex && of->type == primal.type());
      return is_index ? least(operands[0]) + 1 : lowest;
    }
    default: return lowest;
  }
}

// The same iterations, the last one first. With a step of 1 or -1 the reversed loop counts from `end` to `begin`, so
// that no number is outside of the range, and the index is one step before the counter. If `begin` and `end` minus one
// step are known to fit the type, the counter itself is the index. With any other step the bounds are constants
// (passes/simplify/number_iterations.h), or there is room for one step before `begin`: the last of n = ceil((end -
// begin) / step) iterations is begin + (n - 1) step. An empty loop then starts at or beyond the new end and stays
// empty.
Deriver::ReversedRange Deriver::reversed_range(const For &loop) {
  Value begin = value(loop.begin), end = value(loop.end), step = value(loop.step);
  internal_check(step.is_constant(), "a loop whose step is not a constant");
  std::int64_t s = step.as_int(), size = s < 0 ? -s : s;
  auto number = [&](std::int64_t n) { return Value::constant(loop.type, n); };
  const std::int64_t lowest = least_number(loop.type), greatest = greatest_number(loop.type);
  const Value index = Value::local(loop.type, build_.new_local());
  auto counted = [&](Value first, Value stop, std::int64_t by, const Operation &of_counter) -> ReversedRange {
    const LocalId counter = build_.new_local();
    Operation operation = of_counter;
    operation.operands[0] = Value::local(loop.type, counter);
    For reversed{counter, loop.type, first, stop, number(by), {}, {}, loop.kind, loop.stages};
    return {std::move(reversed), index, {{Let{index.id(), std::move(operation)}, build_.where()}}};
  };
  auto direct = [&](Value last, Value stop) -> ReversedRange {
    return {{index.id(), loop.type, last, stop, number(-s), {}, {}, loop.kind, loop.stages}, index, {}};
  };
  if (size == 1) {
    const bool room = s > 0 ? least(loop.begin) > lowest : begin.is_constant() && begin.as_int() < greatest;
    if (!room) return counted(end, begin, -s, {Op::Add, loop.type, {index, number(-s)}});
    const bool end_has_room = s > 0 ? least(loop.end) > lowest : end.is_constant() && end.as_int() < greatest;
    const Value nearest = end_has_room ? end : build_(s > 0 ? Op::Max : Op::Min, {end, begin});
    return direct(build_(Op::Add, {nearest, number(-s)}), build_(Op::Add, {begin, number(-s)}));
  }
  if (begin.is_constant() && end.is_constant()) {
    const Value count = trip_count(loop);
    const __int128 before = static_cast<__int128>(begin.as_int()) - s;
    const Value last = number(count.as_int() - 1);
    if (before < lowest || before > greatest) {
      ReversedRange reversed = counted(last, number(-1), -1, {Op::Mul, loop.type, {index, step}});
      const LocalId moved = build_.new_local();
      auto product = *reversed.defines_index.front().as<Let>();
      product.local = moved;
      reversed.defines_index = {
          {product, build_.where()},
          {Let{index.id(), {Op::Add, loop.type, {begin, Value::local(loop.type, moved)}}}, build_.where()}};
      return reversed;
    }
    return direct(build_(Op::Add, {begin, build_(Op::Mul, {last, step})}),
                  build_(Op::Add, {begin, number(s > 0 ? -1 : 1)}));
  }
  Value distance = s > 0 ? build_(Op::Sub, {end, begin}) : build_(Op::Sub, {begin, end});
  Value count = build_(Op::Div, {build_(Op::Add, {distance, number(size - 1)}), number(size)});
  Value last = build_(Op::Add, {begin, build_(Op::Mul, {build_(Op::Sub, {count, number(1)}), step})});
  return direct(last, build_(Op::Add, {begin, number(s > 0 ? -1 : 1)}));
}

void Deriver::reverse_loop(const For &loop, SourceLocation where) {
  if (!has_adjoint(loop.carried, loop.body)) return;
  begin_carried_adjoints(loop.carried);
  if (has_checkpoints(loop.carried)) {
    reverse_chunks(iterations(loop, where));
    end_carried_adjoints(loop.carried);
    return;
  }
  ReversedRange reversed = reversed_range(loop);
  Block outer = build_.open();
  for (Stmt &stmt : reversed.defines_index) build_.append(std::move(stmt));
  primal_value_[loop.index] = reversed.index;
  Value number = iteration(loop, reversed.index);
  reverse_iteration(iterations(loop, where), number, number);
  reversed.loop.body = build_.close(std::move(outer));
  build_.append({std::move(reversed.loop), where});
  end_carried_adjoints(loop.carried);
}

// As many iterations as the loop ran, the last one first. The condition block belongs to the next iteration.
void Deriver::reverse_loop(const While &loop, SourceLocation where) {
  if (!has_adjoint(loop.carried, loop.condition_block) && !has_adjoint(loop.body)) return;
  auto number = [](std::int64_t n) { return Value::constant(ScalarType::Int32, n); };
  begin_carried_adjoints(loop.carried);
  if (has_checkpoints(loop.carried)) {
    reverse_chunks(iterations(loop, where));
    end_carried_adjoints(loop.carried);
    return;
  }
  Value last = build_(Op::Sub, {loops_.count.at(&loop), number(1)});
  Block outer = build_.open();
  For reversed{build_.new_local(), ScalarType::Int32, last, number(-1), number(-1), {}, {}, LoopKind::Serial};
  Value number_of_iteration = Value::local(ScalarType::Int32, reversed.index);
  reverse_iteration(iterations(loop, where), number_of_iteration, number_of_iteration);
  reversed.body = build_.close(std::move(outer));
  build_.append({std::move(reversed), where});
  end_carried_adjoints(loop.carried);
}

// The adjoints of loop-carried values, from the loop's end to its beginning.
void Deriver::begin_carried_adjoints(const std::vector<Carried> &carried) {
  for (const Carried &c : carried)
    if (active(c.inner))
      adjoint_[c.inner] = build_.variable(active(c.result) ? adjoint(c.result) : Value::zero(gradient_type(c.type)));
}

// From the carried value at the end of an iteration to the value that it was computed from.
void Deriver::hand_back(const std::vector<Carried> &carried) {
  std::vector<std::pair<Value, Value>> taken;
  for (const Carried &c : carried) {
    if (!active(c.inner)) continue;
    LocalId seed = build_.variable(adjoint(c.inner));
    build_.assign(*adjoint_[c.inner], Value::zero(gradient_type(c.type)));
    taken.push_back({c.next, Value::local(gradient_type(c.type), seed)});
  }
  for (auto &[next, seed] : taken) add(next, seed);
}

void Deriver::end_carried_adjoints(const std::vector<Carried> &carried) {
  for (const Carried &c : carried)
    if (active(c.inner)) add(c.initial, adjoint(c.inner));
}

// Reverses one iteration, from its end to its start.
void Deriver::reverse_iteration(const Iterations &loop, Value number_in_tapes, Value number) {
  take_back_iteration(loops_.tapes[&loop.carried], number_in_tapes);
  start_iteration(loop, number_in_tapes, number);
  recompute(loop.blocks);
  for (const Block *block : loop.blocks) declare_adjoints(*block);
  build_.at(loop.where);
  hand_back(loop.carried);
  for (const Block *block : loop.blocks | std::views::reverse) reverse(*block);
}

void Deriver::recompute(const std::vector<const Block *> &blocks) {
  for (const Block *block : blocks) recompute(*block);
}

// The values that the carried locals had when the iteration began.
void Deriver::start_iteration(const Iterations &loop, Value number_in_tapes, Value number) {
  for (const Carried &c : loop.carried) {
    if (auto step = counter_step(c, *loop.blocks.back())) {
      Value moved = build_(Op::Mul, {build_.cast(c.type, number), *step});
      primal_value_[c.inner] = build_(Op::Add, {value(c.initial), moved});
    } else if (keep_.local[c.inner]) {
      primal_value_[c.inner] =
          build_.local_load(c.type, loops_.tapes[&loop.carried].carried.at(c.inner), number_in_tapes);
    } else {
      // Dead-code removal shows whether the value is needed. Then the next attempt stores it.
      primal_value_[c.inner] = build_.operation({Op::Unavailable, c.type, {}, 0, Keep::name_of(c.inner)});
    }
  }
}

}  // namespace samite::autodiff
