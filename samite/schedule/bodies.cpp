#include "samite/schedule/bodies.h"

#include "samite/base/error.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

namespace samite::schedules {

using namespace ir;
using passes::Affine;

namespace {

// By local of the definition: what has been computed of it.
using Made = std::map<LocalId, Value>;

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

Value load(Lowering &lowering, const Site &site, const Operation &of, Made &made) {
  const auto called = lowering.algorithm.function_of(of.array);
  if (!called) {
    Operation copy = of;
    for (Value &operand : copy.operands) operand = index_value(lowering, site, operand, made);
    return lowering.write.operation(std::move(copy));
  }
  const auto found = lowering.storages.find(called->function);
  if (found == lowering.storages.end() || (!found->second.computed && called->function != site.function)) {
    const Place &place = lowering.schedules[called->function].compute;
    throw UserError(place.where,
                    fmt::format("'{0}' is computed at the loop '{1}' of '{2}', which is not around its call in '{3}'; "
                                "compute it at a loop of '{3}', or at one around both",
                                lowering.function(called->function).name, place.loop,
                                place.level == Place::Level::at ? lowering.function(place.function).name : "",
                                lowering.function(site.function).name));
  }
  const Storage &storage = found->second;
  if (storage.owner && (!lowering.open.threads || lowering.open.threads->id != *storage.owner))
    throw UserError(lowering.schedules[called->function].space ? lowering.schedules[called->function].space_where
                                                               : lowering.schedules[called->function].compute.where,
                    fmt::format("'{0}' is kept by each thread for itself, and the threads of the block compute '{1}', "
                                "which calls it, together; store '{0}' in shared memory, or '{1}' in registers",
                                lowering.function(called->function).name, lowering.function(site.function).name));
  const std::uint32_t array = storage.arrays[called->number];
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

// Of f(i) = f(i) + value: the sum and the value. Of the least and greatest of f(i) and a value, where it is atomic.
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

// "f(y, …) +=": what is stored, by the names of its variables.
std::string element_of(const Lowering &lowering, const Site &site) {
  std::vector<std::string> indices;
  for (const auto &pure : site.definition.pure) indices.push_back(pure ? pure->name : "…");
  return fmt::format("{}({})", lowering.function(site.function).name, fmt::join(indices, ", "));
}

void store(Lowering &lowering, const Site &site, Made &made) {
  const Storage &storage = lowering.storages.at(site.function);
  const Function &of = lowering.function(site.function);
  if (storage.local && site.schedule.meeting)
    throw UserError(site.schedule.meeting->where,
                    fmt::format("iterations of loop '{0}' update one element of '{1}' at the same time, and atomic "
                                "updates are of device memory; compute '{1}' at the root, or keep that loop serial",
                                site.schedule.meeting->name, of.name));
  // All values before any of them is stored: they may read each other's old ones.
  std::vector<std::pair<Op, Value>> values;  // what is added, or `Copy` of what is stored
  for (std::size_t v = 0; v < site.definition.values.size(); ++v) {
    const auto added = added_to_itself(lowering, site, v);
    if (added && !storage.local) {
      values.emplace_back(added->first, evaluate(lowering, site, added->second, made));
      continue;
    }
    if (site.schedule.atomic && site.number > 0 && !storage.local)
      throw UserError(site.definition.where,
                      fmt::format("an update of '{0}' is atomic, and is no {0}(…) += value, min or max of itself and "
                                  "a value; other updates have no atomic step: keep its loops serial, without atomic()",
                                  of.name));
    values.emplace_back(Op::Copy, evaluate(lowering, site, site.definition.values[v], made));
  }
  {
    const bool atomic = site.schedule.atomic && site.number > 0 && !storage.local;
    const bool sum = !storage.local && values[0].first == Op::Add;
    lowering.nest.add(
        {fmt::format("{} {} …{}", element_of(lowering, site), sum ? "+=" : "=", atomic ? ", atomically" : ""),
         of.name});
  }
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
  std::optional<Value> inside;
  for (const auto &[value, whole] : site.nest.guards) {
    const Value within = lowering.write(Op::Less, lowering.integers.value_of(value), lowering.integers.value_of(whole));
    inside = inside ? lowering.write(Op::And, *inside, within) : within;
  }
  const auto guarded = [&](const std::optional<Value> &condition, const std::function<void()> &write) {
    if (!condition) return write();
    If branch{*condition, {}, {}, {}};
    lowering.into(branch.then_block, write);
    lowering.write.out->emplace_back(std::move(branch), lowering.write.where);
  };
  guarded(inside, [&] {
    Made made;
    std::optional<Value> predicate;
    if (site.definition.predicate) predicate = evaluate(lowering, site, *site.definition.predicate, made);
    guarded(predicate, [&] { store(lowering, site, made); });
  });
}

}  // namespace

void body(Lowering &lowering, const Site &site) {
  // What stands outside of the threads' loops is done by each of them: one is enough, and more would update twice.
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
