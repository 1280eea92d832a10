// The forward run, once more: values that the reverse sweep may read, and what loops keep of them.
#include "samite/autodiff/deriver.h"

#include <algorithm>

namespace samite::autodiff {

using namespace ir;

void Deriver::recompute(const Block &block) {
  for (const Stmt &stmt : block) {
    build_.at(stmt.where());
    const auto logged = static_cast<std::ptrdiff_t>(undo_.size());
    visit(
        stmt, [&](const Let &let) { recompute_let(let); },
        [&](const Allocate &allocate) { recompute_allocate(allocate); },
        [&](const LocalStore &store) { recompute_store(store); },
        [&](const If &branch) { recompute_branch(branch, stmt.where()); },
        [&](const For &loop) { recompute_loop(loop, stmt.where()); },
        [&](const While &loop) { recompute_loop(loop, stmt.where()); },
        [&](const CustomAdjoint &custom) { recompute_custom(custom); }, [](const auto &) {});
    undo_of_[&stmt] = UndoLog(undo_.begin() + logged, undo_.end());
  }
  // Outside of the block its arrays are not there.
  for (const Stmt &stmt : block)
    if (auto *allocate = stmt.as<Allocate>()) undo_ = without(undo_, allocate->array);
}

void Deriver::recompute_let(const Let &let) {
  Operation operation = let.value;
  operation.operands = values(operation.operands);
  // What an exchange took is what was there before the kernel.
  if (operation.op == Op::Exchange) operation.op = Op::Load, operation.attribute = 0;
  // It happened once, and must not happen again.
  if (info(operation.op).typing == Typing::Atomic)
    operation = {Op::Unavailable, operation.type, {}, 0, Keep::name_of(let.local)};
  if (operation.op == Op::LocalLoad) {
    const LocalArrayId array = operation.array;
    if (held_[array])
      operation.array = local_array_[array]->working;
    else
      operation = {Op::Unavailable, operation.type, {}, 0, keep_.name_of_array(array)};
  }
  primal_value_[let.local] = build_.operation(std::move(operation));
}

void Deriver::recompute_branch(const If &branch, SourceLocation where) {
  // Where the log of an array is no list of stores, or a longer one than the array, its elements are copied instead.
  std::vector<LocalArrayId> copied;
  for (const LocalWrites &writes : logged_writes({&branch.then_block, &branch.else_block})) {
    if (!writes.in_loop && !cheaper_to_copy(writes, 0)) continue;
    undo_.push_back({copy_of(writes.array)});
    ++unlogged_[writes.array];
    copied.push_back(writes.array);
  }
  ++nesting_;
  const LocalId first_inside = build_.local_count();
  If copy{value(branch.condition), {}, {}, {}};
  UndoLog log = std::exchange(undo_, {});
  UndoBranch undo{copy.condition, {}, {}};
  std::vector<BranchResult> exported;

  Block outer = build_.open();
  recompute(branch.then_block);
  std::vector<Value> then_values;
  for (const BranchResult &result : branch.results) then_values.push_back(value(result.then_value));
  undo.then_log = std::exchange(undo_, {});
  export_log(undo.then_log, first_inside, exported, true);
  copy.then_block = build_.close({});

  recompute(branch.else_block);
  for (std::size_t i = 0; i < branch.results.size(); ++i)
    copy.results.push_back({0, branch.results[i].type, then_values[i], value(branch.results[i].else_value)});
  undo.else_log = std::exchange(undo_, {});
  export_log(undo.else_log, first_inside, exported, false);
  copy.else_block = build_.close(std::move(outer));

  for (std::size_t i = 0; i < branch.results.size(); ++i)
    copy.results[i].local = define(branch.results[i].local, branch.results[i].type).id();
  copy.results.insert(copy.results.end(), exported.begin(), exported.end());
  build_.append({std::move(copy), where});
  undo_ = std::move(log);
  if (!undo.then_log.empty() || !undo.else_log.empty()) undo_.push_back({std::move(undo)});
  for (LocalArrayId array : copied) --unlogged_[array];
  --nesting_;
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

// A loop whose reverse follows keeps on tapes what that asks for. Of any other, whatever it writes is copied before,
// for it is run again, from its beginning, before it is reversed.
void Deriver::recompute_loop(const For &loop, SourceLocation where) {
  const bool tapes_needed = nesting_ == 0 && has_adjoint(loop.carried, loop.body);
  const std::vector<LocalWrites> writes = logged_writes({&loop.body});
  const bool chunks = tapes_needed && has_checkpoints(loop.carried);
  std::optional<Value> count;
  std::optional<Checkpoints> checkpoints;
  if (chunks)
    checkpoints = plan_checkpoints(iterations(loop, where), trip_count(loop), writes);
  else if (tapes_needed)
    count = trip_count(loop);
  else
    for (const LocalWrites &w : writes) undo_.push_back({copy_of(w.array)});
  if (!count)
    for (const LocalWrites &w : writes) ++unlogged_[w.array];
  ++nesting_;

  const LocalId first_inside = build_.local_count();
  For copy{0, loop.type, value(loop.begin), value(loop.end), value(loop.step), {}, enter(loop.carried), loop.kind};
  UndoLog log = std::exchange(undo_, {});
  Block outer = build_.open();
  Tapes tapes;
  Value index = define(loop.index, loop.type);
  copy.index = index.id();
  Value number = count ? iteration(loop, index) : index;
  if (count) tapes = start_tapes(loop.carried, writes, number);
  if (chunks) store_checkpoint(*checkpoints);
  recompute(loop.body);
  if (count) finish_tapes(tapes, loop.carried, undo_, first_inside, number);
  close_carried(loop.carried, copy.carried);
  copy.body = build_.close(std::move(outer));
  undo_ = std::move(log);
  if (count) allocate_tapes(tapes, *count, loop.carried, KeptFor::iterations);
  if (chunks) copy.carried.insert(copy.carried.end(), checkpoints->counters.begin(), checkpoints->counters.end());
  leave(loop.carried, copy.carried);
  build_.append({std::move(copy), where});

  --nesting_;
  if (!count)
    for (const LocalWrites &w : writes) --unlogged_[w.array];
  tapes_[&loop.carried] = std::move(tapes);
  if (chunks) checkpoints_.insert_or_assign(&loop.carried, std::move(*checkpoints));
}

// How often a while_ runs shows only when it has run. Where its reverse needs values of the iterations, it runs to
// count them, and once more to keep those; but just once where the tapes can be made for a bound (bounds.cpp).
void Deriver::recompute_loop(const While &loop, SourceLocation where) {
  const bool tapes_needed =
      nesting_ == 0 && (has_adjoint(loop.carried, loop.condition_block) || has_adjoint(loop.body));
  const std::vector<LocalWrites> writes = logged_writes({&loop.condition_block, &loop.body});
  const bool keeps =
      tapes_needed &&
      (!writes.empty() || std::ranges::any_of(loop.carried, [&](const Carried &c) { return keep_.local[c.inner]; }));
  if (!keeps)
    for (const LocalWrites &w : writes) undo_.push_back({copy_of(w.array)});
  ++nesting_;
  Value count = keeps ? run(loop, where, tape_length(loop, where)) : run_without_tapes(loop, where);
  --nesting_;
  count_.insert_or_assign(&loop, count);
}

Value Deriver::run_without_tapes(const While &loop, SourceLocation where) {
  const std::vector<LocalWrites> writes = logged_writes({&loop.condition_block, &loop.body});
  for (const LocalWrites &w : writes) ++unlogged_[w.array];
  Value count = run(loop, where, std::nullopt);
  for (const LocalWrites &w : writes) --unlogged_[w.array];
  return count;
}

// How often its body ran. Its iterations are put on tapes of `tape_length`.
Value Deriver::run(const While &loop, SourceLocation where, std::optional<Value> tape_length) {
  const Value none = Value::zero(ScalarType::Int32);
  const bool chunks = tape_length && has_checkpoints(loop.carried);
  const std::vector<LocalWrites> writes = logged_writes({&loop.body});
  std::optional<Checkpoints> checkpoints;
  if (chunks) {
    checkpoints = plan_checkpoints(iterations(loop, where), *tape_length, writes);
    for (const LocalWrites &w : writes) ++unlogged_[w.array];
  }
  const LocalId first_inside = build_.local_count();
  const Value number = Value::local(ScalarType::Int32, build_.new_local());
  const LocalId count = build_.new_local();
  While copy{{}, loop.condition, {}, enter(loop.carried)};
  UndoLog log = std::exchange(undo_, {});
  Block outer = build_.open();
  recompute(loop.condition_block);
  copy.condition = value(loop.condition);
  copy.condition_block = build_.close({});
  Tapes tapes;
  if (tape_length && !chunks) tapes = start_tapes(loop.carried, writes, number);
  if (chunks) store_checkpoint(*checkpoints);
  recompute(loop.body);
  if (tape_length && !chunks) finish_tapes(tapes, loop.carried, undo_, first_inside, number);
  close_carried(loop.carried, copy.carried);
  Value next = build_(Op::Add, {number, Value::constant(ScalarType::Int32, 1)});
  copy.carried.push_back({number.id(), count, ScalarType::Int32, none, next});
  if (chunks) copy.carried.insert(copy.carried.end(), checkpoints->counters.begin(), checkpoints->counters.end());
  copy.body = build_.close(std::move(outer));
  undo_ = std::move(log);
  if (chunks) {
    for (const LocalWrites &w : writes) --unlogged_[w.array];
    checkpoints_.insert_or_assign(&loop.carried, std::move(*checkpoints));
  } else if (tape_length) {
    allocate_tapes(tapes, *tape_length, loop.carried, KeptFor::iterations);
    tapes_[&loop.carried] = std::move(tapes);
  }
  leave(loop.carried, copy.carried);
  build_.append({std::move(copy), where});
  return Value::local(ScalarType::Int32, count);
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
