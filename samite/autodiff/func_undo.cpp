// The gradients of a Func before one of its updates, from those afterwards.
#include "samite/autodiff/func_deriver.h"
#include "samite/autodiff/rules.h"
#include "samite/base/error.h"

#include <fmt/core.h>

#include <algorithm>

namespace samite::autodiff {

using namespace ir;
using passes::Affine;
using passes::Interval;
using schedules::Definition;
using schedules::Function;

void FuncDeriver::refuse(const Step &step, const std::string &why) const {
  throw UserError(step.definition.where,
                  fmt::format("the gradient of pipeline '{}' goes through this update of '{}', {}", algorithm_.name,
                              function(step.function).name, why));
}

FuncDeriver::Step FuncDeriver::step_of(std::uint32_t f, std::size_t n, const State &after, OwnValue own) {
  const Definition &definition = function(f).definitions[n];
  const auto cotangents = [this, after](const Computed &computed) {
    Cotangents all;
    for (const auto &gradient : after)
      all.push_back(gradient ? std::optional(write_.call(*gradient, 0, computed.indices)) : std::nullopt);
    return all;
  };
  return {f, n, definition, cotangents, std::move(own), varied_in(definition), box_of(f, definition)};
}

FuncDeriver::State FuncDeriver::undo(std::uint32_t f, std::size_t n, State after) {
  const Function &of = function(f);
  const Definition &definition = of.definitions[n];
  const OwnValue unavailable = [&](const Computed &, const Operation &load, const std::vector<Value> &) {
    return write_.build().operation({Op::Unavailable, load.type, {}});
  };
  const Step step = step_of(f, n, after, unavailable);
  const auto of_others = [&](const Operation &load) {
    return is_own(f, load) ? nullptr : &target_of_array(load.array);
  };
  const Effect effect = effect_of(step, after);
  if (effect.accumulates) {
    distribute(step, of_others);
    return after;
  }
  if (definition.reductions.empty()) return undo_each(f, n, after);
  std::vector<std::optional<Inverse>> stored;
  const bool once = stores_once(step, stored);
  if (!effect.reads_itself) {
    if (!once)
      refuse(step,
             "several of whose iterations may store to one element: the gradient belongs to the last of them, which is "
             "not known. Store each element once, or add to it: +=");
    distribute(step, of_others);
    return made(step, untouched(step, after, true));
  }
  if (once && is_scan(step, stored)) return undo_scan(f, n, after, stored);
  if (is_in_place(step)) return undo_in_place(f, n, after);
  refuse(step,
         "whose iterations read elements of it that others store, in another way than one after another along each "
         "variable, f(k) = … f(k - 1) …, or all of them the same elements, f() = … f() …. Write it as a Func with a "
         "dimension more, of which each iteration stores its own element");
}

// For any values of the variables.
FuncDeriver::Effect FuncDeriver::effect_of(const Step &step, const State &after) {
  Variables variables;
  for (const auto &[variable, range] : step.box)
    variables.insert_or_assign(variable, Value::local(ScalarType::Int32, write_.build().new_local()));
  const Computed computed = compute(step.definition, variables, step.own, step.function);
  Cotangents cotangents;
  for (const auto &gradient : after) {
    if (gradient)
      cotangents.emplace_back(Value::local(gradient->types[0], write_.build().new_local()));
    else
      cotangents.emplace_back();
  }
  Step anywhere = step;
  anywhere.cotangents = [&](const Computed &) { return cotangents; };
  const std::map<LocalId, Value> found = pull_back(anywhere, computed);

  const auto needs_itself = [&](const Value &value) {
    return is_made_of(value, [](LocalId, const Operation *made) { return made && made->op == Op::Unavailable; });
  };
  Effect effect;
  std::vector<int> kept(after.size());
  bool other = false;
  for (const Stmt &stmt : step.definition.body) {
    const Let &let = *stmt.as<Let>();
    const auto gradient = found.find(let.local);
    if (gradient == found.end()) continue;
    if (is_own(step.function, let.value)) {
      effect.reads_itself = true;
      const std::size_t v = let.value.array - function(step.function).array;
      const bool same =
          let.value.operands == step.definition.indices && cotangents[v] && gradient->second == *cotangents[v];
      if (same)
        ++kept[v];
      else
        other = true;
    }
    if (needs_itself(gradient->second)) effect.reads_itself = other = true;
  }
  for (const Value &index : computed.indices)
    if (needs_itself(index)) effect.reads_itself = other = true;
  if (computed.predicate && needs_itself(*computed.predicate)) effect.reads_itself = other = true;
  effect.accumulates = !other;
  for (std::size_t v = 0; v < after.size(); ++v) effect.accumulates &= kept[v] == (after[v] ? 1 : 0);
  return effect;
}

// Whether no two iterations store to one element: each variable follows from an index.
bool FuncDeriver::stores_once(const Step &step, std::vector<std::optional<Inverse>> &by_dimension) const {
  const Definition &definition = step.definition;
  const schedules::Forms forms(definition.body, algorithm_.promises);
  by_dimension.assign(definition.indices.size(), std::nullopt);
  std::vector<LocalId> variables;
  for (const schedules::ReductionVariable &reduction : definition.reductions)
    variables.push_back(reduction.variable.local);
  std::size_t solved = 0;
  for (const Inverse &inverse : invert(forms, definition.indices, variables)) {
    if (inverse.is_clamped()) continue;
    for (const LocalId variable : variables)
      if (inverse.rest.contains(passes::Symbol::local(variable))) return false;
    by_dimension[inverse.dimension] = inverse;
    ++solved;
  }
  return solved == variables.size();
}

std::optional<Value> FuncDeriver::is_stored(const Step &step, const std::vector<Value> &point, bool restricted) {
  passes::Builder &build = write_.build();
  const Definition &definition = step.definition;
  Variables variables = variables_in_place(definition, point);
  std::vector<Value> conditions;
  std::vector<std::optional<Inverse>> stored;
  if (!definition.reductions.empty()) {
    stores_once(step, stored);
    for (std::size_t d = 0; d < stored.size(); ++d) {
      if (!stored[d]) continue;
      const Inverse &inverse = *stored[d];
      Affine rest = inverse.rest;
      for (const auto &[other, value] : variables)
        if (rest.contains(passes::Symbol::local(other)))
          rest = rest.substitute(passes::Symbol::local(other), write_.name(value));
      const Value distance = write_.value_of(write_.name(point[d]) - rest);
      const Value by = write_.number(inverse.coefficient), value = build(Op::Div, {distance, by});
      if (inverse.coefficient != 1 && inverse.coefficient != -1)
        conditions.push_back(build(Op::Equal, {build(Op::Mul, {value, by}), distance}));
      const Interval range = range_of(step, inverse.variable, definition.where);
      const Value low = write_.value_of(range.lower), high = write_.value_of(range.upper);
      conditions.push_back(write_.is_inside(value, low, high));
      variables.insert_or_assign(inverse.variable, write_.clamped(value, low, high));
    }
  }
  // In place, if all iterations store to the same elements.
  for (const schedules::ReductionVariable &reduction : definition.reductions)
    variables.try_emplace(reduction.variable.local, write_.value_of(step.box.at(reduction.variable.local).lower));
  const Computed computed = compute(definition, variables, step.own, step.function);
  for (std::size_t d = 0; d < point.size(); ++d)
    if (!definition.pure[d] && (stored.empty() || !stored[d]))
      conditions.push_back(build(Op::Equal, {point[d], write_.as_index(computed.indices[d])}));
  if (computed.predicate && restricted) conditions.push_back(*computed.predicate);
  if (conditions.empty()) return std::nullopt;
  Value all = conditions[0];
  for (std::size_t i = 1; i < conditions.size(); ++i) all = write_.both(all, conditions[i]);
  return all;
}

std::vector<FuncDeriver::Target> FuncDeriver::untouched(const Step &step, const State &after, bool restricted) {
  std::vector<Target> targets;
  const Function &of = function(step.function);
  write_.build().at(step.definition.where);
  for (std::size_t v = 0; v < after.size(); ++v) {
    Target &target = targets.emplace_back(target_of_func(step.function, v));
    if (!after[v]) continue;
    const auto stored = is_stored(step, target.variables, restricted);
    if (!stored) continue;
    const Value kept = write_.call(*after[v], 0, target.variables);
    target.terms.push_back({target.variables, write_.build().select(*stored, Value::zero(target.type), kept),
                            Term::Kind::plain, of.definitions[step.number].where});
  }
  return targets;
}

FuncDeriver::State FuncDeriver::made(const Step &step, std::vector<Target> targets) {
  State state;
  const Function &of = function(step.function);
  for (std::size_t v = 0; v < targets.size(); ++v) {
    if (targets[v].terms.empty()) {
      state.emplace_back();
      continue;
    }
    const std::string name = of.name + (of.types.size() == 1 ? "" : fmt::format("_{}", v)) + "_gradient_before";
    state.emplace_back(make_gradient(name, targets[v], {}, step.definition.where));
  }
  return state;
}

// An update that stores each element separately: it reads its Func as it was before the update.
FuncDeriver::State FuncDeriver::undo_each(std::uint32_t f, std::size_t n, const State &after) {
  const OwnValue before = [this, f, n](const Computed &, const Operation &load, const std::vector<Value> &indices) {
    return write_.call(forward(f, n), number_in(f, load), indices);
  };
  const Step step = step_of(f, n, after, before);
  std::vector<Target> targets = untouched(step, after, true);
  distribute(step, [&](const Operation &load) {
    return is_own(f, load) ? &targets[load.array - function(f).array] : &target_of_array(load.array);
  });
  return made(step, std::move(targets));
}

}  // namespace samite::autodiff
