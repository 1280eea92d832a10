// The recomputation: the values that the reverse sweep may read, and those that loops store.
#include "samite/autodiff/deriver.h"

#include <algorithm>
#include <limits>

namespace samite::autodiff {

using namespace ir;

void Deriver::recompute(const Block &block) {
  for (const Stmt &stmt : block) {
    build_.at(stmt.where());
    const auto logged = static_cast<std::ptrdiff_t>(undo_.log.size());
    visit(
        stmt, [&](const Let &let) { recompute_let(let); },
        [&](const Allocate &allocate) { recompute_allocate(allocate); },
        [&](const LocalStore &store) { recompute_store(store); },
        [&](const If &branch) { recompute_branch(branch, stmt.where()); },
        [&](const For &loop) { recompute_loop(loop, stmt.where()); },
        [&](const While &loop) { recompute_loop(loop, stmt.where()); },
        [&](const CustomAdjoint &custom) { recompute_custom(custom); }, [](const auto &) {});
    undo_.of[&stmt] = UndoLog(undo_.log.begin() + logged, undo_.log.end());
  }
  // Outside of the block its local arrays do not exist.
  for (const Stmt &stmt : block)
    if (auto *allocate = stmt.as<Allocate>()) undo_.log = without(undo_.log, allocate->array);
}

void Deriver::recompute_let(const Let &let) {
  Operation operation = let.value;
  operation.operands = values(operation.operands);
  // The result of an exchange is the value from before the kernel.
  if (operation.op == Op::Exchange) operation.op = Op::Load, operation.attribute = 0;
  // An atomic operation must not run a second time.
  if (info(operation.op).typing == Typing::Atomic)
    operation = {Op::Unavailable, operation.type, {}, 0, Keep::name_of(let.local)};
  if (operation.op == Op::LocalLoad) {
    const LocalArrayId array = operation.array;
    if (arrays_.held[array])
      operation.array = arrays_.latest[array]->working;
    else
      operation = {Op::Unavailable, operation.type, {}, 0, keep_.name_of_array(array)};
  }
  primal_value_[let.local] = build_.operation(std::move(operation));
}

void Deriver::recompute_branch(const If &branch, SourceLocation where) {
  // An array is copied if its log would be longer than the array, or would not be a list of single stores.
  std::vector<LocalArrayId> copied;
  for (const LocalWrites &writes : logged_writes({&branch.then_block, &branch.else_block})) {
    if (!writes.in_loop && !cheaper_to_copy(writes, 0)) continue;
    undo_.log.push_back({copy_of(writes.array)});
    ++arrays_.unlogged[writes.array];
    copied.push_back(writes.array);
  }
  ++undo_.nesting;
  const LocalId first_inside = build_.local_count();
  If copy{value(branch.condition), {}, {}, {}};
  UndoLog log = std::exchange(undo_.log, {});
  UndoBranch undo{copy.condition, {}, {}};
  std::vector<BranchResult> exported;

  Block outer = build_.open();
  recompute(branch.then_block);
  std::vector<Value> then_values;
  for (const BranchResult &result : branch.results) then_values.push_back(value(result.then_value));
  undo.then_log = std::exchange(undo_.log, {});
  export_log(undo.then_log, first_inside, exported, true);
  copy.then_block = build_.close({});

  recompute(branch.else_block);
  for (std::size_t i = 0; i < branch.results.size(); ++i)
    copy.results.push_back({0, branch.results[i].type, then_values[i], value(branch.results[i].else_value)});
  undo.else_log = std::exchange(undo_.log, {});
  export_log(undo.else_log, first_inside, exported, false);
  copy.else_block = build_.close(std::move(outer));

  for (std::size_t i = 0; i < branch.results.size(); ++i)
    copy.results[i].local = define(branch.results[i].local, branch.results[i].type).id();
  copy.results.insert(copy.results.end(), exported.begin(), exported.end());
  build_.append({std::move(copy), where});
  undo_.log = std::move(log);
  if (!undo.then_log.empty() || !undo.else_log.empty()) undo_.log.push_back({std::move(undo)});
  for (LocalArrayId array : copied) --arrays_.unlogged[array];
  --undo_.nesting;
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

// If its reverse follows, a loop stores the values for it on tapes. Any other loop runs again, from its beginning,
// before it is reversed: so the arrays that it writes are copied before it runs.
void Deriver::recompute_loop(const For &loop, SourceLocation where) {
  std::optional<TapeLength> length;
  if (undo_.nesting == 0 && has_adjoint(loop.carried, loop.body))
    length = TapeLength{trip_count(loop)};
  else
    for (const LocalWrites &w : logged_writes({&loop.body})) undo_.log.push_back({copy_of(w.array)});
  run(iterations(loop, where),
      {0, loop.type, value(loop.begin), value(loop.end), value(loop.step), {}, {}, loop.kind, loop.stages}, length);
}

// The iterations of a while_ are known only after it has run. If its reverse needs values of the iterations, the loop
// runs once to count them, and once more to store the values. It runs just once if the tapes can be sized by a bound
// (bounds.cpp).
void Deriver::recompute_loop(const While &loop, SourceLocation where) {
  const bool reversed =
      undo_.nesting == 0 && (has_adjoint(loop.carried, loop.condition_block) || has_adjoint(loop.body));
  const std::vector<LocalWrites> writes = logged_writes({&loop.body});
  if (!reversed ||
      (writes.empty() && std::ranges::none_of(loop.carried, [&](const Carried &c) { return keep_.local[c.inner]; }))) {
    for (const LocalWrites &w : writes) undo_.log.push_back({copy_of(w.array)});
    loops_.count.insert_or_assign(&loop, run(loop, where, std::nullopt));
    return;
  }
  const TapeLength length = tape_length(loop, where);
  if (length.bounded == Value::boolean(false)) {
    const ScalarType type = length.iterations.type();
    run(iterations(loop, where),
        {0, type, Value::zero(type), length.iterations, Value::constant(type, 1), {}, {}, LoopKind::Serial}, length);
    loops_.count.insert_or_assign(&loop, length.iterations);
  } else {
    loops_.count.insert_or_assign(&loop, run(loop, where, length));
    if (has_checkpoints(loop.carried)) loops_.checkpoints.at(&loop.carried).count = loops_.count.at(&loop);
  }
}

Deriver::Run Deriver::begin_run(const Iterations &loop, const std::optional<TapeLength> &length) {
  Run run{loop, length, {}, logged_writes({loop.blocks.back()}), 0, {}, {}};
  if (length && has_checkpoints(loop.carried)) run.checkpoints = plan_checkpoints(loop, *length, run.writes);
  if (!length)
    for (const LocalWrites &w : run.writes) ++arrays_.unlogged[w.array];
  ++undo_.nesting;
  run.first_inside = build_.local_count();
  run.log = std::exchange(undo_.log, {});
  return run;
}

// With checkpoints each chunk overwrites the tapes of the previous chunk, so those of the last one remain at the end.
void Deriver::run_iteration(Run &run, const std::vector<const Block *> &blocks, Value number) {
  if (run.checkpoints) number = Value::local(run.checkpoints->count.type(), run.checkpoints->slot);
  if (run.length) run.tapes = start_tapes(run.loop.carried, run.writes, number);
  if (run.checkpoints) store_checkpoint(*run.checkpoints);
  recompute(blocks);
  if (run.length) finish_tapes(run.tapes, run.loop.carried, undo_.log, run.first_inside, number);
}

// Outside of the loop again, and before it.
void Deriver::end_run(Run &run, std::vector<Carried> &copy) {
  undo_.log = std::move(run.log);
  --undo_.nesting;
  if (run.checkpoints) {
    allocate_tapes(run.tapes, run.checkpoints->chunk, run.loop.carried, KeptFor::chunk_iterations);
    copy.insert(copy.end(), run.checkpoints->counters.begin(), run.checkpoints->counters.end());
    loops_.checkpoints.insert_or_assign(&run.loop.carried, std::move(*run.checkpoints));
  } else if (run.length) {
    allocate_tapes(run.tapes, run.length->iterations, run.loop.carried, KeptFor::iterations);
  } else {
    for (const LocalWrites &w : run.writes) --arrays_.unlogged[w.array];
  }
  loops_.tapes[&run.loop.carried] = std::move(run.tapes);
  leave(run.loop.carried, copy);
}

// The iterations `copy` of a range.
void Deriver::run(const Iterations &loop, For copy, const std::optional<TapeLength> &length) {
  Run run = begin_run(loop, length);
  copy.index = build_.new_local();
  const Value index = Value::local(copy.type, copy.index);
  copy.carried = enter(loop.carried);
  Block outer = build_.open();
  if (loop.range) primal_value_[loop.range->index] = index;
  run_iteration(run, loop.blocks, loop.range && length ? iteration(*loop.range, index) : index);
  close_carried(loop.carried, copy.carried);
  copy.body = build_.close(std::move(outer));
  end_run(run, copy.carried);
  build_.append({std::move(copy), loop.where});
}

// Returns how often its body ran.
Value Deriver::run(const While &loop, SourceLocation where, const std::optional<TapeLength> &length) {
  const Iterations both = iterations(loop, where);
  Run run = begin_run(both, length);
  const Value number = Value::local(ScalarType::Int32, build_.new_local());
  const LocalId count = build_.new_local();
  While copy{{}, loop.condition, {}, enter(loop.carried)};
  Block outer = build_.open();
  recompute(loop.condition_block);
  copy.condition = value(loop.condition);
  if (length)
    copy.condition = build_.select(length->bounded, copy.condition, build_(Op::Less, {number, length->iterations}));
  copy.condition_block = build_.close({});
  run_iteration(run, {&loop.body}, number);
  close_carried(loop.carried, copy.carried);
  Value next = build_(Op::Add, {number, Value::constant(ScalarType::Int32, 1)});
  copy.carried.push_back({number.id(), count, ScalarType::Int32, Value::zero(ScalarType::Int32), next});
  copy.body = build_.close(std::move(outer));
  end_run(run, copy.carried);
  build_.append({std::move(copy), where});
  return Value::local(ScalarType::Int32, count);
}

// The iterations of a loop: ceil((end - begin) / step), or none. At most the largest number of its type: no memory
// could hold values of more.
Value Deriver::trip_count(const For &loop) {
  Value begin = value(loop.begin), end = value(loop.end);
  std::int64_t step = loop.step.as_int(), size = step < 0 ? -step : step;
  const std::int64_t most = loop.type == ScalarType::Int64 ? std::numeric_limits<std::int64_t>::max()
                                                           : std::numeric_limits<std::int32_t>::max();
  if (begin.is_constant() && end.is_constant()) {
    const __int128 apart = static_cast<__int128>(end.as_int()) - begin.as_int();
    const __int128 count = ((step > 0 ? apart : -apart) + size - 1) / size;
    return Value::constant(loop.type, static_cast<std::int64_t>(std::clamp<__int128>(count, 0, most)));
  }
  if (size == 1) {
    const bool up = step > 0;
    const Value low = up ? begin : end, high = build_(Op::Max, {up ? end : begin, low});
    const Value apart = build_(Op::Sub, {high, low}), zero = Value::zero(loop.type);
    if (least(up ? loop.begin : loop.end) >= 0) return apart;
    return build_.select(build_(Op::Less, {apart, zero}), Value::constant(loop.type, most), apart);
  }
  Value distance = step > 0 ? build_(Op::Sub, {end, begin}) : build_(Op::Sub, {begin, end});
  Value padded = build_(Op::Add, {distance, Value::constant(loop.type, size - 1)});
  return build_(Op::Max, {build_(Op::Div, {padded, Value::constant(loop.type, size)}), Value::zero(loop.type)});
}

// The number of the iteration, from 0, in which the loop's index is `index`.
Value Deriver::iteration(const For &loop, Value index) {
  Value begin = value(loop.begin);
  std::int64_t step = loop.step.as_int(), size = step < 0 ? -step : step;
  Value distance = step > 0 ? build_(Op::Sub, {index, begin}) : build_(Op::Sub, {begin, index});
  // The distance of two constants may overflow a signed type. Other ranges with such steps count their iterations.
  const ScalarType type = loop.type.element();
  const Value end = value(loop.end);
  if (size != 1 && begin.is_constant() && end.is_constant() && class_of(type) == ScalarClass::Signed) {
    const __int128 apart = static_cast<__int128>(end.as_int()) - begin.as_int();
    const bool wide = size_of(type) == 8;
    const __int128 most = wide ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int32_t>::max();
    if (apart > most || -apart > most) {
      const ScalarType bits = wide ? ScalarType::UInt64 : ScalarType::UInt32;
      return build_.cast(type, build_(Op::Div, {build_.cast(bits, distance), Value::constant(bits, size)}));
    }
  }
  return build_(Op::Div, {distance, Value::constant(loop.type, size)});
}

}  // namespace samite::autodiff
