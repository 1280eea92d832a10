#include "samite/schedule/bodies.h"

#include "samite/base/error.h"
#include "samite/schedule/algorithm_text.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

namespace samite::schedules {

using namespace ir;
using passes::Affine;

namespace {

// By local of the definition: its computed value.
using Made = std::map<LocalId, Value>;

using Limits = std::vector<std::pair<Affine, Affine>>;

// Whether the first of each pair is below the second; nothing of none.
std::optional<Value> all_below(Lowering &lowering, const Limits &limits) {
  std::optional<Value> all;
  for (const auto &[value, end] : limits) {
    const Value below = lowering.write(Op::Less, lowering.integers.value_of(value), lowering.integers.value_of(end));
    all = all ? lowering.write(Op::And, *all, below) : below;
  }
  return all;
}

Value evaluate(Lowering &lowering, const Site &site, const Value &value, Made &made);

Value index_value(Lowering &lowering, const Site &site, const Value &index, Made &made) {
  if (const Affine form = in_loops(lowering, site, index); form.known()) return lowering.integers.value_of(form);
  return lowering.write.as_i32(evaluate(lowering, site, index, made));
}

std::vector<Value> array_indices(Lowering &lowering, const Site &site, const Storage &storage,
                                 const std::vector<Value> &indices, Made &made) {
  std::vector<Value> result;
  for (std::size_t place = 0; place < storage.order.size(); ++place) {
    const auto dimension = static_cast<std::size_t>(storage.order[place]);
    const Affine form = in_loops(lowering, site, indices[dimension]) - storage.begin[dimension];
    Value index = number(0);
    if (form.known()) {
      index = lowering.integers.value_of(form);
    } else {
      index = lowering.write.as_i32(evaluate(lowering, site, indices[dimension], made));
      index = lowering.write(Op::Sub, index, lowering.integers.value_of(storage.begin[dimension]));
    }
    if (place > 0 && place < storage.merged.size()) {
      const Value before = lowering.write(Op::Mul, result.back(), lowering.integers.value_of(storage.merged[place]));
      result.back() = lowering.write(Op::Add, before, index);
    } else {
      result.push_back(index);
    }
  }
  if (result.empty()) result.push_back(number(0));
  return result;
}

Value local_index(Lowering &lowering, const Site &site, const Storage &storage, const std::vector<Value> &indices,
                  Made &made) {
  Affine sum = 0;
  std::optional<Value> more;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    Affine form = in_loops(lowering, site, indices[d]) - storage.begin[d];
    if (storage.folds[d]) form = remainder(in_loops(lowering, site, indices[d]), *storage.folds[d]);
    const Affine &stride = storage.strides[d];
    if (form.known() && stride.is_constant() && (sum + form * stride.constant()).known()) {
      sum = sum + form * stride.constant();
      continue;
    }
    if (form.known() && !storage.folds[d]) {
      const Value part = lowering.write(Op::Mul, lowering.integers.value_of(form), lowering.integers.value_of(stride));
      more = more ? lowering.write(Op::Add, *more, part) : part;
      continue;
    }
    Value index = lowering.write.as_i32(evaluate(lowering, site, indices[d], made));
    if (storage.folds[d])
      index = lowering.write.floored_remainder(index, *storage.folds[d]);
    else
      index = lowering.write(Op::Sub, index, lowering.integers.value_of(storage.begin[d]));
    index = lowering.write(Op::Mul, index, lowering.integers.value_of(stride));
    more = more ? lowering.write(Op::Add, *more, index) : index;
  }
  if (storage.by_thread) {
    std::int64_t all = 1;
    Affine thread = 0;
    for (std::size_t l = lowering.open.threads->loops.size(); l-- > 0;) {
      thread = thread + Affine(lowering.open.threads->loops[l].symbol) * all;
      all *= lowering.open.threads->caps[l];
    }
    sum = sum * all + thread;
    if (more) more = lowering.write(Op::Mul, *more, number(all));
  }
  const Value known = lowering.integers.value_of(lowering.symbols.shortest(sum));
  return more ? lowering.write(Op::Add, *more, known) : known;
}

// A load from one of the pipeline's own arrays.
Value load_given(Lowering &lowering, const Site &site, Operation of, Made &made) {
  for (std::size_t d = 0; d < of.operands.size(); ++d) {
    const Affine origin = origin_of(lowering, of.array, d), form = in_loops(lowering, site, of.operands[d]) - origin;
    if (form.known()) {
      of.operands[d] = lowering.integers.value_of(form);
      continue;
    }
    of.operands[d] = index_value(lowering, site, of.operands[d], made);
    if (!(origin == Affine(0)))
      of.operands[d] = lowering.write(Op::Sub, of.operands[d], lowering.integers.value_of(origin));
  }
  return lowering.write.operation(std::move(of));
}

// The index that is promised to be within limits, which debug mode checks.
Value promised(Lowering &lowering, const Site &site, const Operation &of, Made &made) {
  const auto integer = [&](std::size_t i) { return index_value(lowering, site, of.operands[i], made); };
  const Value index = integer(0);
  if (!lowering.choice.checks_promises) return index;
  const Value low = integer(1), high = integer(2);
  const Value above = lowering.write(Op::GreaterEqual, index, low), below = lowering.write(Op::LessEqual, index, high);
  Message message;
  message.texts = {
      fmt::format("'{}' promises by promise_clamped that the index {} is from ", lowering.function(site.function).name,
                  text_of(lowering.algorithm, site.definition, of.operands[0])),
      " to ", ", and it is ", ""};
  message.values = {low, high, index};
  const Value holds = lowering.write(Op::And, above, below);
  lowering.write.out->emplace_back(Check{holds, std::move(message), {}}, lowering.write.where);
  // If it does not hold, the value read is meaningless, but its element exists.
  return lowering.write.operation({Op::Select, ScalarType::Int32, {holds, index, low}});
}

Value load_of_func(Lowering &lowering, const Site &site, const Operation &of, Made &made);

// If a function's stores are masked, the elements that it reads of itself may be missing, or another iteration stores
// to them.
Value load_own(Lowering &lowering, const Site &site, const Operation &of, Made &made) {
  If branch{*all_below(lowering, site.nest.store_guards), {}, {}, {}};
  BranchResult result{lowering.write.new_local(), of.type, Value::zero(of.type), Value::zero(of.type)};
  lowering.into(branch.then_block, [&] {
    Made here = made;
    result.then_value = load_of_func(lowering, site, of, here);
  });
  branch.results.push_back(result);
  lowering.write.out->emplace_back(std::move(branch), lowering.write.where);
  return Value::local(of.type, result.local);
}

Value load(Lowering &lowering, const Site &site, const Operation &of, Made &made) {
  if (of.array == lowering.algorithm.promises) return promised(lowering, site, of, made);
  const auto called = lowering.algorithm.function_of(of.array);
  if (!called) return load_given(lowering, site, of, made);
  const bool own = called->function == site.function;
  if (own && !site.nest.store_guards.empty()) return load_own(lowering, site, of, made);
  return load_of_func(lowering, site, of, made);
}

Value load_of_func(Lowering &lowering, const Site &site, const Operation &of, Made &made) {
  const Algorithm::Value called = *lowering.algorithm.function_of(of.array);
  const auto found = lowering.storages.find(called.function);
  if (found == lowering.storages.end() || (!found->second.computed && called.function != site.function)) {
    const Place &place = lowering.schedules[called.function].compute;
    throw UserError(place.where,
                    fmt::format("'{0}' is computed at the loop '{1}' of '{2}', which is not around its call in '{3}'; "
                                "compute it at a loop of '{3}', or at one around both",
                                lowering.function(called.function).name, place.loop,
                                place.level == Place::Level::at ? lowering.function(place.function).name : "",
                                lowering.function(site.function).name));
  }
  const Storage &storage = found->second;
  if (storage.owner && (!lowering.open.threads || lowering.open.threads->id != *storage.owner))
    throw UserError(lowering.schedules[called.function].space ? lowering.schedules[called.function].space_where
                                                              : lowering.schedules[called.function].compute.where,
                    fmt::format("'{0}' is kept by each thread for itself, and the threads of the block compute '{1}', "
                                "which calls it, together; store '{0}' in shared memory, or '{1}' in registers",
                                lowering.function(called.function).name, lowering.function(site.function).name));
  const std::uint32_t array = storage.arrays[called.number];
  if (storage.local)
    return lowering.write.operation(
        {Op::LocalLoad, of.type, {local_index(lowering, site, storage, of.operands, made)}, array});
  return lowering.write.operation(
      {Op::Load, of.type, array_indices(lowering, site, storage, of.operands, made), array});
}

Value evaluate(Lowering &lowering, const Site &site, const Value &value, Made &made) {
  if (!value.is_local()) return value;
  if (const auto found = made.find(value.id()); found != made.end()) return found->second;
  Value result = value;
  if (const auto variable = site.nest.variables.find(value.id()); variable != site.nest.variables.end()) {
    if (!variable->second.known())
      throw UserError(site.definition.where,
                      fmt::format("the loops of '{}' are split and fused so often that the indices of its elements "
                                  "cannot be written in terms of them; split fewer loops that were split or fused "
                                  "before, or use Tail::guard",
                                  lowering.function(site.function).name));
    result = lowering.integers.value_of(variable->second);
  } else {
    const Operation *of = site.forms.operation(value);
    internal_check(of != nullptr, "a value of a definition is not known");
    const Affine form = in_loops(lowering, site, value);
    if (of->op == Op::Load)
      result = load(lowering, site, *of, made);
    else if (form.known() && value.type() == Type(ScalarType::Int32))
      result = lowering.integers.value_of(form);
    else {
      Operation copy = *of;
      for (Value &operand : copy.operands) operand = evaluate(lowering, site, operand, made);
      result = lowering.write.operation(std::move(copy));
    }
  }
  made.insert_or_assign(value.id(), result);
  return result;
}

// For f(i) = f(i) + value: the sum and the value. For minima and maxima of f(i) and a value, if it is atomic.
std::optional<std::pair<Op, Value>> added_to_itself(const Lowering &lowering, const Site &site, std::size_t v) {
  const Operation *of = site.forms.operation(site.definition.values[v]);
  if (!of || site.number == 0) return std::nullopt;
  const std::uint32_t own = lowering.function(site.function).array + static_cast<std::uint32_t>(v);
  const auto is_own = [&](const Value &value) {
    const Operation *load = site.forms.operation(value);
    return load && load->op == Op::Load && load->array == own && load->operands == site.definition.indices;
  };
  Op op = Op::Copy;
  if (of->op == Op::Add) op = Op::Add;
  if (site.schedule.atomic && of->op == Op::Min) op = Op::AtomicMin;
  if (site.schedule.atomic && of->op == Op::Max) op = Op::AtomicMax;
  if (op == Op::Copy) return std::nullopt;
  if (is_own(of->operands[0])) return std::pair{op, of->operands[1]};
  if (is_own(of->operands[1])) return std::pair{op, of->operands[0]};
  return std::nullopt;
}

// "f(y, …) +=": the stored element, by the names of its variables.
std::string element_of(const Lowering &lowering, const Site &site) {
  std::vector<std::string> indices;
  for (const auto &pure : site.definition.pure) indices.push_back(pure ? pure->name : "…");
  return fmt::format("{}({})", lowering.function(site.function).name, fmt::join(indices, ", "));
}

void only_where(Lowering &lowering, const std::optional<Value> &condition, const std::function<void()> &write) {
  if (!condition) return write();
  If branch{*condition, {}, {}, {}};
  lowering.into(branch.then_block, write);
  lowering.write.out->emplace_back(std::move(branch), lowering.write.where);
}

// Whether it is known without loading anything which element is stored.
bool has_plain_indices(const Lowering &lowering, const Site &site) {
  return std::ranges::all_of(site.definition.indices,
                             [&](const Value &index) { return in_loops(lowering, site, index).known(); });
}

// Computes values that are zero if the condition does not hold, without loading anything for them.
template <class Compute>
void computed_where(Lowering &lowering, const Value &condition, std::vector<std::pair<Op, Value>> &values,
                    const Compute &compute) {
  If branch{condition, {}, {}, {}};
  lowering.into(branch.then_block, compute);
  for (auto &[op, value] : values) {
    const BranchResult result{lowering.write.new_local(), value.type(), value, Value::zero(value.type())};
    branch.results.push_back(result);
    value = Value::local(result.type, result.local);
  }
  lowering.write.out->emplace_back(std::move(branch), lowering.write.where);
}

void store_values(Lowering &lowering, const Site &site, const std::vector<std::pair<Op, Value>> &values, Made &made);

// `loads`: whether the values are loaded for.
void store(Lowering &lowering, const Site &site, const std::optional<Value> &loads, Made &made) {
  const Storage &storage = lowering.storages.at(site.function);
  const Function &of = lowering.function(site.function);
  if (storage.local && site.schedule.meeting)
    throw UserError(site.schedule.meeting->where,
                    fmt::format("iterations of loop '{0}' update one element of '{1}' at the same time, and atomic "
                                "updates are of device memory; compute '{1}' at the root, or keep that loop serial",
                                site.schedule.meeting->name, of.name));
  // All values before any of them is stored: they may read each other's old ones.
  std::vector<std::pair<Op, Value>> values;  // the addend, or `Copy` for a stored value
  const auto compute = [&](Made &here) {
    for (std::size_t v = 0; v < site.definition.values.size(); ++v) {
      const auto added = added_to_itself(lowering, site, v);
      if (added && !storage.local) {
        values.emplace_back(added->first, evaluate(lowering, site, added->second, here));
        continue;
      }
      if (site.schedule.atomic && site.number > 0 && !storage.local)
        throw UserError(
            site.definition.where,
            fmt::format("an update of '{0}' is atomic, and is no {0}(…) += value, min or max of itself and "
                        "a value; other updates have no atomic step: keep its loops serial, without atomic()",
                        of.name));
      values.emplace_back(Op::Copy, evaluate(lowering, site, site.definition.values[v], here));
    }
  };
  if (loads)
    computed_where(lowering, *loads, values, [&] {
      Made inside = made;
      compute(inside);
    });
  else
    compute(made);
  {
    const bool atomic = site.schedule.atomic && site.number > 0 && !storage.local;
    const bool sum = !storage.local && values[0].first == Op::Add;
    lowering.nest.add(
        {fmt::format("{} {} …{}", element_of(lowering, site), sum ? "+=" : "=", atomic ? ", atomically" : ""),
         of.name});
  }
  only_where(lowering, all_below(lowering, site.nest.store_guards), [&] {
    Made inside = made;
    store_values(lowering, site, values, inside);
  });
}

void store_values(Lowering &lowering, const Site &site, const std::vector<std::pair<Op, Value>> &values, Made &made) {
  const Storage &storage = lowering.storages.at(site.function);
  for (std::size_t v = 0; v < values.size(); ++v) {
    const auto &[op, value] = values[v];
    const std::uint32_t array = storage.arrays[v];
    const bool atomic = site.schedule.atomic && site.number > 0;
    if (storage.local) {
      lowering.write.out->emplace_back(
          LocalStore{array, local_index(lowering, site, storage, site.definition.indices, made), value},
          lowering.write.where);
    } else if (op == Op::Copy) {
      std::vector<Value> indices = array_indices(lowering, site, storage, site.definition.indices, made);
      lowering.write.out->emplace_back(Store{array, std::move(indices), value}, lowering.write.where);
    } else if (op == Op::Add) {
      std::vector<Value> indices = array_indices(lowering, site, storage, site.definition.indices, made);
      lowering.write.out->emplace_back(Accumulate{array, std::move(indices), value, atomic}, lowering.write.where);
    } else {
      std::vector<Value> operands = array_indices(lowering, site, storage, site.definition.indices, made);
      operands.push_back(value);
      lowering.write.operation({op, value.type(), std::move(operands), array});
    }
  }
}

void body_of_thread(Lowering &lowering, const Site &site) {
  Limits guards = site.nest.guards;
  const bool stores_beyond = !site.definition.predicate && has_plain_indices(lowering, site);
  if (!stores_beyond) guards.insert(guards.end(), site.nest.load_guards.begin(), site.nest.load_guards.end());
  only_where(lowering, all_below(lowering, guards), [&] {
    Made made;
    std::optional<Value> predicate, loads;
    if (site.definition.predicate) predicate = evaluate(lowering, site, *site.definition.predicate, made);
    if (stores_beyond) loads = all_below(lowering, site.nest.load_guards);
    only_where(lowering, predicate, [&] { store(lowering, site, loads, made); });
  });
}

}  // namespace

void body(Lowering &lowering, const Site &site) {
  // Each thread runs the code outside of the thread loops: one suffices, and more would update twice.
  if (lowering.gpu && lowering.kernel.block_fills && !lowering.open.threads) {
    For one{lowering.write.new_local(), ScalarType::Int32, number(0), number(1), number(1), {}, {}};
    one.kind = LoopKind::Thread;
    lowering.into(one.body, [&] { body_of_thread(lowering, site); });
    lowering.write.out->emplace_back(std::move(one), lowering.write.where);
    return;
  }
  body_of_thread(lowering, site);
}

}  // namespace samite::schedules
