// The parts of a definition's gradients that many of its reads get.
#include "samite/autodiff/func_deriver.h"

#include <algorithm>

namespace samite::autodiff {

using namespace ir;

// Operations on floating values that it takes.
std::size_t FuncDeriver::cost(const Value &value) {
  std::size_t count = 0;
  is_made_of(value, [&](LocalId, const Operation *made) {
    if (made && is_floating(made->type.element())) ++count;
    return false;
  });
  return count;
}

// Those next to the reads that take many operations.
std::vector<Value> FuncDeriver::shared_values(const std::set<LocalId> &reads,
                                              const std::map<LocalId, Value> &gradients) {
  constexpr std::size_t least_cost = 8, most_values = 8;
  std::map<LocalId, int> uses;  // by how many reads
  for (const LocalId read : reads)
    is_made_of(gradients.at(read), [&](LocalId id, const Operation *) {
      ++uses[id];
      return false;
    });
  std::map<LocalId, Value> complete;
  for (const auto &[local, gradient] : gradients)
    if (gradient.is_local() && uses[gradient.id()] > 1 && cost(gradient) >= least_cost)
      complete.emplace(gradient.id(), gradient);
  std::vector<Value> found;
  std::set<LocalId> seen;
  std::vector<Value> open;
  for (const LocalId read : reads) open.push_back(gradients.at(read));
  while (!open.empty()) {
    const Value next = open.back();
    open.pop_back();
    if (!next.is_local() || !seen.insert(next.id()).second) continue;
    if (const auto shared = complete.find(next.id()); shared != complete.end()) {
      found.push_back(shared->second);
      continue;
    }
    if (const Operation *made = write_.operation(next))
      open.insert(open.end(), made->operands.begin(), made->operands.end());
  }
  if (found.size() > most_values) found.clear();
  return found;
}

std::optional<FuncDeriver::Shared> FuncDeriver::share(const Step &step, const std::set<LocalId> &reads,
                                                      const std::map<LocalId, Value> &gradients) {
  if (step.number != 0 || step.definition.pure.empty() || reads.size() < 3) return std::nullopt;
  const std::vector<Value> values = shared_values(reads, gradients);
  if (values.empty()) return std::nullopt;
  const Box &box = *regions_[step.function];
  for (const passes::Interval &range : box)
    if (!range.lower.known() || !range.upper.known()) return std::nullopt;

  Shared shared;
  std::vector<LocalId> one;  // that has this gradient
  std::vector<ScalarType> types;
  for (std::size_t v = 0; v < values.size(); ++v) {
    for (const auto &[local, gradient] : gradients)
      if (gradient.is_local() && gradient.id() == values[v].id()) {
        shared.value.emplace(local, v);
        if (one.size() == v) one.push_back(local);
      }
    types.push_back(values[v].type().element());
  }
  passes::Builder &build = write_.build();
  build.at(step.definition.where);
  shared.func = write_.declare(function(step.function).name + "_inside_gradient", types,
                               variables_of_func(step.function), {}, step.definition.where);
  Variables variables;
  std::optional<Value> inside;
  for (std::size_t d = 0; d < box.size(); ++d) {
    const Value low = write_.value_of(box[d].lower), high = write_.value_of(box[d].upper);
    const Value here = write_.is_inside(shared.func.variables[d], low, high);
    inside = inside ? write_.both(*inside, here) : here;
    variables.insert_or_assign(step.definition.pure[d]->local, write_.clamped(shared.func.variables[d], low, high));
  }
  const std::map<LocalId, Value> found =
      pull_back(step, compute(step.definition, std::move(variables), step.own, step.function));
  std::vector<Value> results;
  for (std::size_t v = 0; v < one.size(); ++v)
    results.push_back(build.select(*inside, found.at(one[v]), Value::zero(types[v])));
  write_.define(shared.func, shared.func.variables, results, step.definition.where);
  for (std::size_t v = 0; v < one.size(); ++v)
    adjoint_arrays_.insert(shared.func.array + static_cast<std::uint32_t>(v));
  return shared;
}

// A Func of an array's elements.
FuncDeriver::Handle FuncDeriver::copy_of(std::uint32_t array) {
  if (const auto found = copies_.find(array); found != copies_.end()) return found->second;
  passes::Builder &build = write_.build();
  const SourceLocation where = build.where();
  const Parameter &parameter = algorithm_.parameters[array];
  const Handle copy = write_.declare(parameter.name + "_copy", {parameter.type}, variables_of_array(array), {}, where);
  copies_.emplace(array, copy);
  write_.define(copy, copy.variables, {build.operation({Op::Load, parameter.type, copy.variables, array})}, where);
  return copy;
}

}  // namespace samite::autodiff
