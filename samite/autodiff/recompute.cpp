// The forward run, once more: values that the reverse sweep may read, and what loops keep of them.
#include "samite/autodiff/deriver.h"

#include <algorithm>

namespace samite::autodiff {

using namespace ir;

void Deriver::recompute(const Block &block) {
  for (const Stmt &stmt : block) {
    build_.at(stmt.where());
    visit(
        stmt,
        [&](const Let &let) {
          Operation operation = let.value;
          operation.operands = values(operation.operands);
          // It happened once, and must not happen again.
          if (info(operation.op).typing == Typing::Atomic)
            operation = {Op::Unavailable, operation.type, {}, 0, static_cast<std::int32_t>(let.local)};
          primal_value_[let.local] = build_.operation(std::move(operation));
        },
        [&](const If &branch) { recompute_branch(branch, stmt.where()); },
        [&](const For &loop) { recompute_loop(loop, stmt.where()); },
        [&](const While &loop) { recompute_loop(loop, stmt.where()); }, [](const auto &) {});
  }
}

void Deriver::recompute_branch(const If &branch, SourceLocation where) {
  If copy{value(branch.condition), {}, {}, {}};
  Block outer = build_.open();
  recompute(branch.then_block);
  std::vector<Value> then_values;
  for (const BranchResult &result : branch.results) then_values.push_back(value(result.then_value));
  copy.then_block = build_.close({});
  recompute(branch.else_block);
  for (std::size_t i = 0; i < branch.results.size(); ++i)
    copy.results.push_back({0, branch.results[i].type, then_values[i], value(branch.results[i].else_value)});
  copy.else_block = build_.close(std::move(outer));
  for (std::size_t i = 0; i < branch.results.size(); ++i)
    copy.results[i].local = define(branch.results[i].local, branch.results[i].type).id();
  build_.append({std::move(copy), where});
}

std::vector<Carried> Deriver::enter(const std::vector<Carried> &carried) {
  std::vector<Carried> copy;
  for (const Carried &c : carried) {
    Value initial = value(c.initial);
    copy.push_back({define(c.inner, c.type).id(), 0, c.type, initial, initial});
  }
  return copy;
}
void Deriver::close_carried(const std::vector<Carried> &carried, std::vector<Carried> &copy) {
  for (std::size_t i = 0; i < carried.size(); ++i) copy[i].next = value(carried[i].next);
}
void Deriver::leave(const std::vector<Carried> &carried, std::vector<Carried> &copy) {
  for (std::size_t i = 0; i < carried.size(); ++i) copy[i].result = define(carried[i].result, carried[i].type).id();
}

void Deriver::recompute_loop(const For &loop, SourceLocation where) {
  Value count = Value::zero(loop.type);
  if (keeps(loop.carried)) count = trip_count(loop);
  allocate_tapes(loop.carried, count);
  For copy{0, loop.type, value(loop.begin), value(loop.end), value(loop.step), {}, enter(loop.carried), loop.kind};
  Block outer = build_.open();
  copy.index = define(loop.index, loop.type).id();
  if (keeps(loop.carried)) store_on_tapes(loop.carried, iteration(loop, value(Value::local(loop.type, loop.index))));
  recompute(loop.body);
  close_carried(loop.carried, copy.carried);
  copy.body = build_.close(std::move(outer));
  leave(loop.carried, copy.carried);
  build_.append({std::move(copy), where});
}

// How often a while_ runs shows only when it has run: once to count where its reverse needs that, and once more to
// keep values where it needs those, too.
void Deriver::recompute_loop(const While &loop, SourceLocation where) {
  if (has_adjoint(loop.carried, loop.condition_block) || has_adjoint(loop.body)) {
    Value count = run(loop, where, false);
    count_.insert_or_assign(&loop, count);
    if (!keeps(loop.carried)) return;
    allocate_tapes(loop.carried, count);
  }
  run(loop, where, keeps(loop.carried));
}

// The loop once more; how often its body ran.
Value Deriver::run(const While &loop, SourceLocation where, bool keep) {
  Value none = Value::zero(ScalarType::Int32);
  LocalId number = build_.new_local(), count = build_.new_local();
  While copy{{}, loop.condition, {}, enter(loop.carried)};
  Block outer = build_.open();
  recompute(loop.condition_block);
  copy.condition = value(loop.condition);
  copy.condition_block = build_.close({});
  if (keep) store_on_tapes(loop.carried, Value::local(ScalarType::Int32, number));
  recompute(loop.body);
  close_carried(loop.carried, copy.carried);
  Value next = build_(Op::Add, {Value::local(ScalarType::Int32, number), Value::constant(ScalarType::Int32, 1)});
  copy.carried.push_back({number, count, ScalarType::Int32, none, next});
  copy.body = build_.close(std::move(outer));
  leave(loop.carried, copy.carried);
  build_.append({std::move(copy), where});
  return Value::local(ScalarType::Int32, count);
}

bool Deriver::keeps(const std::vector<Carried> &carried) const {
  return std::any_of(carried.begin(), carried.end(), [&](const Carried &c) { return kept_[c.inner]; });
}

void Deriver::allocate_tapes(const std::vector<Carried> &carried, Value count) {
  for (const Carried &c : carried)
    if (kept_[c.inner]) tape_[c.inner] = build_.allocate(c.type, count);
}

void Deriver::store_on_tapes(const std::vector<Carried> &carried, Value number) {
  for (const Carried &c : carried)
    if (kept_[c.inner]) build_.local_store(*tape_[c.inner], number, value(Value::local(c.type, c.inner)));
}

// The iterations that a loop runs: ceil((end - begin) / step), or none.
Value Deriver::trip_count(const For &loop) {
  Value begin = value(loop.begin), end = value(loop.end);
  std::int64_t step = loop.step.as_int(), size = step < 0 ? -step : step;
  Value distance = step > 0 ? build_(Op::Sub, {end, begin}) : build_(Op::Sub, {begin, end});
  Value padded = build_(Op::Add, {distance, Value::constant(loop.type, size - 1)});
  return build_(Op::Max, {build_(Op::Div, {padded, Value::constant(loop.type, size)}), Value::zero(loop.type)});
}

// The number of the iteration, from 0, in which the loop's index is `index`.
Value Deriver::iteration(const For &loop, Value index) {
  Value begin = value(loop.begin);
  std::int64_t step = loop.step.as_int(), size = step < 0 ? -step : step;
  Value distance = step > 0 ? build_(Op::Sub, {index, begin}) : build_(Op::Sub, {begin, index});
  return build_(Op::Div, {distance, Value::constant(loop.type, size)});
}

}  // namespace samite::autodiff
