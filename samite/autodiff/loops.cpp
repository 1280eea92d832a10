// Loops backwards: the same iterations, last first.
#include "samite/autodiff/deriver.h"
#include "samite/base/error.h"

#include <ranges>

namespace samite::autodiff {

using namespace ir;

// The constant by which an integer local grows in each iteration, if it does just that.
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

// The same iterations, last first. With n = ceil((end - begin) / step) of them the last is begin + (n - 1) step; an
// empty loop then starts at or beyond the new end and stays empty.
For Deriver::reversed_range(const For &loop) {
  Value begin = value(loop.begin), end = value(loop.end), step = value(loop.step);
  internal_check(step.is_constant(), "a loop whose step is not a constant");
  std::int64_t s = step.as_int(), size = s < 0 ? -s : s;
  auto number = [&](std::int64_t n) { return Value::constant(loop.type, n); };
  Value distance = s > 0 ? build_(Op::Sub, {end, begin}) : build_(Op::Sub, {begin, end});
  Value count = build_(Op::Div, {build_(Op::Add, {distance, number(size - 1)}), number(size)});
  Value last = size == 1 ? build_(Op::Add, {end, number(-s)})
                         : build_(Op::Add, {begin, build_(Op::Mul, {build_(Op::Sub, {count, number(1)}), step})});
  Value stop = build_(Op::Add, {begin, number(s > 0 ? -1 : 1)});
  return {0, loop.type, last, stop, number(-s), {}, {}, loop.kind, loop.stages};
}

void Deriver::reverse_loop(const For &loop, SourceLocation where) {
  if (!has_adjoint(loop.carried, loop.body)) return;
  begin_carried_adjoints(loop.carried);
  if (has_checkpoints(loop.carried)) {
    reverse_chunks(iterations(loop, where));
    end_carried_adjoints(loop.carried);
    return;
  }
  For reversed = reversed_range(loop);
  Block outer = build_.open();
  Value index = define(loop.index, loop.type);
  reversed.index = index.id();
  Value number = iteration(loop, index);
  reverse_iteration(iterations(loop, where), number, number);
  reversed.body = build_.close(std::move(outer));
  build_.append({std::move(reversed), where});
  end_carried_adjoints(loop.carried);
}

// As often as the loop ran, last iteration first. What the condition computes belongs to the iteration it admits.
void Deriver::reverse_loop(const While &loop, SourceLocation where) {
  if (!has_adjoint(loop.carried, loop.condition_block) && !has_adjoint(loop.body)) return;
  auto number = [](std::int64_t n) { return Value::constant(ScalarType::Int32, n); };
  begin_carried_adjoints(loop.carried);
  if (has_checkpoints(loop.carried)) {
    reverse_chunks(iterations(loop, where));
    end_carried_adjoints(loop.carried);
    return;
  }
  Value last = build_(Op::Sub, {count_.at(&loop), number(1)});
  Block outer = build_.open();
  For reversed{build_.new_local(), ScalarType::Int32, last, number(-1), number(-1), {}, {}, LoopKind::Serial};
  Value number_of_iteration = Value::local(ScalarType::Int32, reversed.index);
  reverse_iteration(iterations(loop, where), number_of_iteration, number_of_iteration);
  reversed.body = build_.close(std::move(outer));
  build_.append({std::move(reversed), where});
  end_carried_adjoints(loop.carried);
}

// The adjoint of what a loop carries, from the loop's end to its beginning.
void Deriver::begin_carried_adjoints(const std::vector<Carried> &carried) {
  for (const Carried &c : carried)
    if (active(c.inner))
      adjoint_[c.inner] = build_.variable(active(c.result) ? adjoint(c.result) : Value::zero(gradient_type(c.type)));
}

// From the value that an iteration left to what it was computed from.
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

// One iteration, from its end to its start.
void Deriver::reverse_iteration(const Iterations &loop, Value number_in_tapes, Value number) {
  take_back_iteration(tapes_[&loop.carried], number_in_tapes);
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
      primal_value_[c.inner] = build_.local_load(c.type, tapes_[&loop.carried].carried.at(c.inner), number_in_tapes);
    } else {
      // Whether this is needed shows when dead code is gone; it is then kept in the next attempt.
      primal_value_[c.inner] = build_.operation({Op::Unavailable, c.type, {}, 0, Keep::name_of(c.inner)});
    }
  }
}

}  // namespace samite::autodiff
