// The elements that the forward pipeline computes: gradients are zero elsewhere.
#include "samite/autodiff/func_deriver.h"
#include "samite/base/error.h"

#include <algorithm>
#include <limits>

namespace samite::autodiff {

using namespace ir;
using passes::Affine;
using passes::Interval;
using passes::Range;
using passes::Symbol;
using schedules::Definition;
using schedules::Forms;

namespace {

Range known_range(const Symbol &symbol) {
  if (symbol.kind == Symbol::Kind::Extent) return {0, std::numeric_limits<std::int32_t>::max()};
  return {};
}

}  // namespace

// An integer of the range of a Reduction, or of an origin.
Affine FuncDeriver::integer(const Definition &definition, const Value &value) {
  const Block &body = definition.bounds.empty() ? definition.body : definition.bounds;
  const Forms forms(body);
  if (const Affine form = forms.form(value); form.known()) {
    bool of_parameters = true;
    form.for_each_symbol([&](const Symbol &symbol) { of_parameters &= symbol.kind != Symbol::Kind::Local; });
    if (of_parameters) return write_.short_form(form);
  }
  std::unordered_map<LocalId, Value> values;
  for (const Stmt &stmt : body) {
    const Let &let = *stmt.as<Let>();
    Operation operation = let.value;
    for (Value &operand : operation.operands)
      if (operand.is_local()) operand = values.at(operand.id());
    values.insert_or_assign(let.local, write_.build().operation(std::move(operation)));
  }
  return write_.name(write_.as_index(value.is_local() ? values.at(value.id()) : value));
}

Affine FuncDeriver::derived(const schedules::Derived &what) {
  std::vector<Value> operands;
  for (const Affine &operand : what.operands) operands.push_back(write_.value_of(operand));
  if (!what.function) return write_.name(write_.build().operation({what.op, ScalarType::Int32, operands}));
  std::unordered_map<LocalId, Value> values;
  for (std::size_t i = 0; i < what.function->of.size(); ++i) values.insert_or_assign(what.function->of[i], operands[i]);
  const auto renamed = [&](const Value &value) { return value.is_local() ? values.at(value.id()) : value; };
  for (const Stmt &stmt : what.function->body) {
    const Let &let = *stmt.as<Let>();
    if (values.contains(let.local)) continue;
    Operation operation = let.value;
    for (Value &operand : operation.operands) operand = renamed(operand);
    values.insert_or_assign(let.local, write_.build().operation(std::move(operation)));
  }
  return write_.name(write_.as_index(renamed(what.function->result)));
}

std::map<LocalId, Interval> FuncDeriver::box_of(std::uint32_t f, const Definition &definition) {
  std::map<LocalId, Interval> box;
  for (std::size_t d = 0; d < definition.pure.size(); ++d)
    if (definition.pure[d]) box.insert_or_assign(definition.pure[d]->local, (*regions_[f])[d]);
  for (const schedules::ReductionVariable &reduction : definition.reductions) {
    const Affine begin = integer(definition, reduction.begin), extent = integer(definition, reduction.extent);
    box.insert_or_assign(reduction.variable.local, Interval{begin, begin + extent - 1});
  }
  return box;
}

void FuncDeriver::grow_region(const Step &step, const Let &load) {
  const auto called = algorithm_.function_of(load.value.array);
  if (!called) return;
  const Forms forms(step.definition.body, algorithm_.promises);
  Box box;
  for (std::size_t d = 0; d < load.value.operands.size(); ++d) {
    const Value &index = load.value.operands[d];
    Interval range;
    // It reads the element at the same index there.
    if (called->function == step.function && step.definition.pure[d] && index == step.definition.indices[d])
      range = (*regions_[step.function])[d];
    else
      range =
          forms.interval(index, step.box, known_range, [&](const schedules::Derived &what) { return derived(what); });
    box.push_back({write_.short_form(range.lower), write_.short_form(range.upper)});
  }
  auto &region = regions_[called->function];
  if (!region) {
    region = std::move(box);
    return;
  }
  for (std::size_t d = 0; d < box.size(); ++d) {
    const auto joined = [&](const Affine &a, const Affine &b, Affine (*of)(const Affine &, const Affine &), Op op) {
      if (!a.known() || !b.known()) return Affine::unknown();
      const Affine both = of(a, b);
      if (both.known()) return write_.short_form(both);
      return write_.name(write_.build()(op, {write_.value_of(a), write_.value_of(b)}));
    };
    Interval &own = (*region)[d];
    own = {joined(own.lower, box[d].lower, passes::least, Op::Min),
           joined(own.upper, box[d].upper, passes::greatest, Op::Max)};
  }
}

}  // namespace samite::autodiff
