// The forward Funcs of an adjoint: their definitions once more, and the arrays of Funcs that depend on active ones.
#include "samite/autodiff/func_deriver.h"

#include <algorithm>

namespace samite::autodiff {

using namespace ir;
using schedules::Definition;
using schedules::Function;

Value FuncDeriver::Computed::operator()(const Value &of) const {
  if (!of.is_local()) return of;
  if (const auto variable = variables.find(of.id()); variable != variables.end()) return variable->second;
  return values.at(of.id());
}

FuncDeriver::Computed FuncDeriver::compute(const Definition &definition, Variables variables, const OwnValue &own,
                                           std::uint32_t f) {
  Computed computed;
  computed.variables = std::move(variables);
  for (const Stmt &stmt : definition.body) {
    const Let &let = *stmt.as<Let>();
    Operation operation = let.value;
    for (Value &operand : operation.operands) operand = computed(operand);
    write_.build().at(stmt.where());
    Value value = Value::boolean(false);
    const auto called = operation.op == Op::Load ? algorithm_.function_of(operation.array) : std::nullopt;
    if (called && own && called->function == f) {
      value = own(computed, let.value, operation.operands);
    } else if (called) {
      value = write_.call(forward(called->function, function(called->function).definitions.size()), called->number,
                          operation.operands);
    } else {
      const bool promise = operation.op == Op::Load && operation.array == algorithm_.promises;
      if (promise) operation.array = write_.promises();
      value = operation.op == Op::Load && !promise && reads_copies_
                  ? write_.call(copy_of(operation.array), 0, operation.operands)
                  : write_.build().operation(std::move(operation));
    }
    computed.values.insert_or_assign(let.local, value);
  }
  write_.build().at(definition.where);
  for (const Value &index : definition.indices) computed.indices.push_back(computed(index));
  for (const Value &value : definition.values) computed.results.push_back(computed(value));
  if (definition.predicate) computed.predicate = computed(*definition.predicate);
  return computed;
}

// Variables that cover dimensions.
FuncDeriver::Variables FuncDeriver::variables_in_place(const Definition &definition, const std::vector<Value> &pure) {
  Variables variables;
  for (std::size_t d = 0; d < definition.pure.size(); ++d)
    if (definition.pure[d]) variables.insert_or_assign(definition.pure[d]->local, pure[d]);
  return variables;
}

std::vector<PipelineWriter::Range> FuncDeriver::ranges_of(const Definition &definition) {
  std::vector<PipelineWriter::Range> ranges;
  for (const schedules::ReductionVariable &reduction : definition.reductions)
    ranges.push_back({reduction.variable.name, write_.value_of(integer(definition, reduction.begin)),
                      write_.value_of(integer(definition, reduction.extent))});
  return ranges;
}

// The Func as its first `count` definitions leave it.
FuncDeriver::Handle FuncDeriver::forward(std::uint32_t f, std::size_t count) {
  if (const auto found = forward_.find({f, count}); found != forward_.end()) return found->second;
  const Function &of = function(f);
  const SourceLocation where = write_.build().where();
  const std::string name = count == of.definitions.size() ? of.name : of.name + "_before";
  const Handle handle = write_.declare(name, of.types, variables_of_func(f), {}, of.where);
  forward_.emplace(std::pair(f, count), handle);
  const OwnValue own = [&](const Computed &, const Operation &load, const std::vector<Value> &indices) {
    return write_.call(handle, number_in(f, load), indices);
  };
  for (std::size_t n = 0; n < count; ++n) {
    const Definition &definition = of.definitions[n];
    if (definition.undefined) {
      std::vector<Value> values;
      for (const ScalarType type : of.types) values.push_back(write_.build().operation({Op::Unavailable, type, {}}));
      write_.define(handle, handle.variables, values, definition.where);
      continue;
    }
    Variables variables = variables_in_place(definition, handle.variables);
    if (!definition.reductions.empty()) {
      const std::vector<Value> reduced = write_.reduction(ranges_of(definition), definition.where);
      for (std::size_t r = 0; r < reduced.size(); ++r)
        variables.insert_or_assign(definition.reductions[r].variable.local, reduced[r]);
    }
    const std::size_t domain = write_.last_reduction();
    const Computed computed = compute(definition, std::move(variables), own, f);
    if (computed.predicate) write_.restrict(domain, *computed.predicate);
    write_.define(handle, computed.indices, computed.results, definition.where);
  }
  write_.build().at(where);
  return handle;
}

bool FuncDeriver::is_varied(std::uint32_t array) const {
  return array < own_parameters_ ? active_[array] && algorithm_.parameters[array].is_array() : varied_.contains(array);
}

std::set<LocalId> FuncDeriver::varied_in(const Definition &definition) const {
  std::set<LocalId> varied;
  for (const Stmt &stmt : definition.body) {
    const Let &let = *stmt.as<Let>();
    if (!is_floating(let.value.type.element())) continue;
    const bool varies =
        let.value.op == Op::Load
            ? is_varied(let.value.array)
            : let.value.op != Op::StopGradient && std::ranges::any_of(let.value.operands, [&](const Value &operand) {
                return operand.is_local() && varied.contains(operand.id());
              });
    if (varies) varied.insert(let.local);
  }
  return varied;
}

void FuncDeriver::find_varied() {
  for (bool grown = true; grown;) {
    const std::size_t before = varied_.size();
    for (const Function &of : algorithm_.functions)
      for (const Definition &definition : of.definitions) {
        const std::set<LocalId> varied = varied_in(definition);
        for (std::size_t v = 0; v < definition.values.size(); ++v)
          if (definition.values[v].is_local() && varied.contains(definition.values[v].id()))
            varied_.insert(of.array + static_cast<std::uint32_t>(v));
      }
    grown = varied_.size() != before;
  }
}

}  // namespace samite::autodiff
