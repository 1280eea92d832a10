#include "samite/autodiff/func_deriver.h"

#include "samite/autodiff/adjoint.h"
#include "samite/autodiff/rules.h"
#include "samite/base/error.h"

#include <fmt/core.h>

#include <algorithm>
#include <ranges>

namespace samite::autodiff {

using namespace ir;
using passes::Affine;
using passes::Symbol;
using schedules::Definition;
using schedules::Function;

namespace {

schedules::Algorithm without_schedules(CapturedPipeline captured) {
  std::erase_if(captured.funcs, [](const Func &func) { return func.of_schedule; });
  return schedules::algorithm_of(captured);
}

}  // namespace

FuncDeriver::FuncDeriver(const CapturedPipeline &captured, const std::vector<bool> &active)
    : active_(active),
      own_parameters_(captured.parameters),
      algorithm_(without_schedules(captured)),
      write_(captured.algorithm.name + "_adjoint", algorithm_.local_count, captured.algorithm.where),
      gradient_(captured.parameters),
      regions_(algorithm_.functions.size()) {}

PipelineAdjoint FuncDeriver::run() {
  add_parameters();
  find_varied();
  for (const std::uint32_t f : algorithm_.order | std::views::reverse) derive(f);
  finish_arrays();
  made_.pipeline = write_.finish();
  return std::move(made_);
}

void FuncDeriver::add_parameters() {
  for (Parameter parameter : algorithm_.parameters) {
    if (parameter.is_array()) parameter.read_only = true;
    write_.add_parameter(std::move(parameter));
  }
  for (std::uint32_t p = 0; p < own_parameters_; ++p) {
    if (!active_[p]) continue;
    Parameter gradient = algorithm_.parameters[p];
    gradient.name = derived_name(write_.parameters(), gradient, "_gradient");
    gradient.type = gradient_type(gradient.type).element();
    gradient.read_only = false;
    gradient_[p] = write_.add_parameter(std::move(gradient));
    made_.gradient_of.push_back(p);
  }
  for (const auto &[array, origin] : algorithm_.origins) {
    const Definition made_of{origin.body, origin.indices, {}, {}, {}, {}, {}, false, {}, {}, {}};
    const Computed computed = compute(made_of, {}, {}, 0);
    write_.add_origin(array, computed.indices, algorithm_.where);
    if (active_[array]) write_.add_origin(gradient_[array], computed.indices, algorithm_.where);
  }
}

std::vector<Value> FuncDeriver::variables_of_func(std::uint32_t f) {
  std::vector<Value> variables;
  for (const auto &pure : function(f).definitions[0].pure)
    variables.push_back(write_.variable(pure->name, pure->where));
  return variables;
}

FuncDeriver::Target FuncDeriver::target_of_func(std::uint32_t f, std::size_t value) {
  const std::string number = function(f).types.size() == 1 ? "" : fmt::format("_{}", value);
  return {function(f).name + number + "_gradient", variables_of_func(f),
          gradient_type(function(f).types[value]).element()};
}

FuncDeriver::Target &FuncDeriver::target_of_array(std::uint32_t array) {
  if (const auto found = targets_.find(array); found != targets_.end()) return found->second;
  Target target;
  if (const auto of = algorithm_.function_of(array)) {
    target = target_of_func(of->function, of->number);
  } else {
    target.name = write_.parameters()[gradient_[array]].name;
    target.variables = variables_of_array(array);
    target.type = gradient_type(algorithm_.parameters[array].type).element();
  }
  return targets_.emplace(array, std::move(target)).first->second;
}

FuncDeriver::Box FuncDeriver::box_of_array(std::uint32_t f) {
  Box box;
  const std::uint32_t array = *function(f).output;
  const auto origin = algorithm_.origins.find(array);
  for (int d = 0; d < function(f).rank(); ++d) {
    Affine begin = 0;
    if (origin != algorithm_.origins.end()) {
      const Definition made_of{origin->second.body, origin->second.indices, {}, {}, {}, {}, {}, false, {}, {}, {}};
      begin = integer(made_of, origin->second.indices[static_cast<std::size_t>(d)]);
    }
    box.push_back({begin, begin + Affine(Symbol::extent(array, d)) - 1});
  }
  return box;
}

// The gradient of a Func that fills an array is the array's, and zero elsewhere.
void FuncDeriver::add_seed(std::uint32_t f, std::size_t value, Target &target) {
  const std::uint32_t array = *function(f).output + static_cast<std::uint32_t>(value);
  const std::uint32_t gradient = gradient_[array];
  const Box box = box_of_array(f);
  std::vector<Value> indices;
  std::optional<Value> inside;
  for (std::size_t d = 0; d < box.size(); ++d) {
    const Value low = write_.value_of(box[d].lower), high = write_.value_of(box[d].upper);
    const Value here = write_.is_inside(target.variables[d], low, high);
    inside = inside ? write_.both(*inside, here) : here;
    indices.push_back(write_.clamped(target.variables[d], low, high));
  }
  adjoint_arrays_.insert(gradient);
  Value seed = write_.build().operation({Op::Load, target.type, indices, gradient});
  if (inside) seed = write_.build().select(*inside, seed, Value::zero(target.type));
  target.terms.push_back({target.variables, seed, Term::Kind::plain, function(f).where});
}

void FuncDeriver::derive(std::uint32_t f) {
  const Function &of = function(f);
  write_.build().at(of.where);
  if (of.output) {
    const Box box = box_of_array(f);
    if (regions_[f])
      for (std::size_t d = 0; d < box.size(); ++d) (*regions_[f])[d] = united((*regions_[f])[d], box[d]);
    else
      regions_[f] = box;
  }
  State state(of.types.size());
  for (std::size_t v = 0; v < of.types.size(); ++v) {
    const auto array = of.array + static_cast<std::uint32_t>(v);
    if (of.output && active_[*of.output + v] && is_varied(array)) add_seed(f, v, target_of_array(array));
    const auto target = targets_.find(array);
    if (target == targets_.end()) continue;
    const std::string name = of.name + (of.types.size() == 1 ? "" : fmt::format("_{}", v)) + "_gradient";
    state[v] = make_gradient(name, target->second, {}, of.where);
    targets_.erase(target);
  }
  if (std::ranges::none_of(state, [](const auto &handle) { return handle.has_value(); })) return;
  for (std::size_t n = of.definitions.size() - 1; n > 0; --n) state = undo(f, n, std::move(state));
  if (of.definitions[0].undefined) return;
  distribute(step_of(f, 0, state, {}), [&](const Operation &load) { return &target_of_array(load.array); });
}

// Elements at edges, and those at indices from arrays, are added by Funcs of their own: what the others need is then
// needed by one update alone, in whose loops it can be computed, and what an edge needs is that edge.
void FuncDeriver::add_to_array(std::uint32_t parameter, const Target &target) {
  const std::uint32_t gradient = gradient_[parameter];
  Target everywhere{target.name, target.variables, target.type};
  for (const Term &term : target.terms)
    if (term.kind == Term::Kind::plain) everywhere.terms.push_back(term);
  if (!everywhere.terms.empty()) make_gradient(target.name + "_sum", everywhere, gradient, algorithm_.where);
  for (const Term &term : target.terms) {
    if (term.kind == Term::Kind::plain) continue;
    const Target some{target.name, target.variables, target.type, {term}};
    make_gradient(target.name + (everywhere.terms.empty() ? "_sum" : "_edges"), some, gradient, algorithm_.where);
  }
}

void FuncDeriver::finish_arrays() {
  bool any = false;
  for (std::uint32_t p = 0; p < own_parameters_; ++p) {
    const auto target = targets_.find(p);
    if (!active_[p] || target == targets_.end()) continue;
    add_to_array(p, target->second);
    any = true;
  }
  if (!any)
    throw UserError(algorithm_.where, fmt::format("the gradient of pipeline '{}': none reaches an array that tracks "
                                                  "its gradient and that the pipeline reads",
                                                  algorithm_.name));
  // The array is overwritten: the elements that it had before have no influence. This is the last Func that runs.
  for (std::uint32_t f = 0; f < algorithm_.functions.size(); ++f)
    for (std::size_t v = 0; function(f).output && v < function(f).types.size(); ++v) {
      const auto array = *function(f).output + static_cast<std::uint32_t>(v);
      if (!active_[array]) continue;
      const ScalarType type = gradient_type(function(f).types[v]).element();
      const Handle taken = write_.declare(write_.parameters()[gradient_[array]].name + "_taken", {type},
                                          variables_of_func(f), gradient_[array], function(f).where);
      write_.define(taken, taken.variables, {Value::zero(type)}, function(f).where);
    }
}

PipelineAdjoint derive_pipeline_adjoint(const CapturedPipeline &captured, const std::vector<bool> &active) {
  return FuncDeriver(captured, active).run();
}

}  // namespace samite::autodiff
