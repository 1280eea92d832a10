#include "samite/autodiff/pipeline_writer.h"

#include "samite/base/error.h"

#include <algorithm>

namespace samite::autodiff {

using namespace ir;
using passes::Affine;
using passes::AffineTerm;
using passes::Symbol;

namespace {

template <class Taken>
std::string unused_name(const std::string &name, const Taken &taken) {
  std::string candidate = name;
  for (int n = 1; taken(candidate); ++n) candidate = name + "_" + std::to_string(n);
  return candidate;
}

}  // namespace

PipelineWriter::PipelineWriter(std::string name, LocalId first_local, SourceLocation where) : build_(first_local) {
  pipeline_.algorithm.name = std::move(name);
  pipeline_.algorithm.where = where;
  pipeline_.parameters = 0;
}

std::uint32_t PipelineWriter::add_parameter(Parameter parameter) {
  const auto number = static_cast<std::uint32_t>(pipeline_.algorithm.parameters.size());
  pipeline_.algorithm.parameters.push_back(std::move(parameter));
  pipeline_.parameters = number + 1;
  return number;
}

void PipelineWriter::add_origin(std::uint32_t array, std::vector<Value> indices, SourceLocation where) {
  pipeline_.origins.push_back({array, std::move(indices), where});
}

std::uint32_t PipelineWriter::promises() {
  if (!pipeline_.promises) {
    pipeline_.promises = static_cast<std::uint32_t>(pipeline_.algorithm.parameters.size());
    Parameter parameter{"promise_clamped", ScalarType::Int32, 3};
    parameter.read_only = true;
    pipeline_.algorithm.parameters.push_back(std::move(parameter));
  }
  return *pipeline_.promises;
}

// Moves the built statements to the trace.
void PipelineWriter::follow() {
  for (Stmt &stmt : build_.take()) {
    if (const auto *let = stmt.as<Let>()) made_.emplace(let->local, let->value);
    trace_.push_back(std::move(stmt));
  }
}

const Operation *PipelineWriter::operation(const Value &value) {
  follow();
  const auto found = value.is_local() ? made_.find(value.id()) : made_.end();
  return found == made_.end() ? nullptr : &found->second;
}

Value PipelineWriter::variable(const std::string &name, SourceLocation where) {
  if (const auto found = variables_.find(name); found != variables_.end())
    return Value::local(ScalarType::Int32, found->second);
  const LocalId local = build_.new_local();
  variables_.emplace(name, local);
  names_.insert(name);
  pipeline_.variables.push_back({name, local, where});
  return Value::local(ScalarType::Int32, local);
}

std::vector<Value> PipelineWriter::reduction(const std::vector<Range> &ranges, SourceLocation where) {
  ReductionDomain domain{{}, {}, where};
  std::vector<Value> variables;
  for (const Range &range : ranges) {
    const std::string name = unused_name(range.name, [&](const std::string &taken) { return names_.contains(taken); });
    names_.insert(name);
    const LocalId local = build_.new_local();
    domain.ranges.push_back({{name, local, where}, range.begin, range.extent});
    variables.push_back(Value::local(ScalarType::Int32, local));
  }
  pipeline_.domains.push_back(std::move(domain));
  return variables;
}

PipelineWriter::Handle PipelineWriter::declare(const std::string &name, std::vector<ScalarType> types,
                                               std::vector<Value> variables, std::optional<std::uint32_t> output,
                                               SourceLocation where) {
  Func func;
  func.name = unused_name(name, [&](const std::string &taken) {
    return std::ranges::find(pipeline_.funcs, taken, &Func::name) != pipeline_.funcs.end();
  });
  func.types = types;
  func.array = static_cast<std::uint32_t>(pipeline_.algorithm.parameters.size());
  func.rank = static_cast<int>(variables.size());
  func.output = output;
  func.where = where;
  for (std::size_t value = 0; value < types.size(); ++value) {
    Parameter parameter;
    const std::string own = types.size() == 1 ? func.name : func.name + "_" + std::to_string(value);
    parameter.name = unused_name(own, [&](const std::string &taken) {
      return std::ranges::find(pipeline_.algorithm.parameters, taken, &Parameter::name) !=
             pipeline_.algorithm.parameters.end();
    });
    parameter.type = types[value];
    parameter.rank = func.rank;
    pipeline_.algorithm.parameters.push_back(std::move(parameter));
  }
  Handle handle{func.array, std::move(types), std::move(variables)};
  pipeline_.funcs.push_back(std::move(func));
  return handle;
}

void PipelineWriter::define(const Handle &func, const std::vector<Value> &indices, const std::vector<Value> &values,
                            SourceLocation where) {
  follow();
  for (std::size_t value = 0; value < values.size(); ++value)
    trace_.emplace_back(Store{func.array + static_cast<std::uint32_t>(value), indices, values[value]}, where);
}

Value PipelineWriter::call(const Handle &func, std::size_t value, const std::vector<Value> &indices) {
  return build_.operation({Op::Load, func.types[value], indices, func.array + static_cast<std::uint32_t>(value)});
}

Affine PipelineWriter::name(Value value) {
  if (value.is_constant()) return value.as_int();
  if (value.kind() == Value::Kind::Parameter) return Symbol::parameter(value.parameter_index());
  return Symbol::local(value.id());
}

Affine PipelineWriter::short_form(const Affine &form) {
  constexpr std::size_t most = 8;
  if (!form.known() || form.nodes() <= most) return form;
  return name(value_of(form));
}

Value PipelineWriter::value_of(const AffineTerm &term) {
  const auto operand = [&](std::size_t i) { return value_of((*term.operands)[i]); };
  switch (term.kind) {
    case AffineTerm::Kind::Symbol:
      switch (term.symbol.kind) {
        case Symbol::Kind::Local: return Value::local(ScalarType::Int32, term.symbol.id);
        case Symbol::Kind::Parameter:
          return as_index(Value::parameter(pipeline_.algorithm.parameters[term.symbol.id].type, term.symbol.id));
        case Symbol::Kind::Extent:
          return build_.operation({Op::Extent, ScalarType::Int32, {}, term.symbol.id, term.symbol.dimension});
        default: throw InternalError("a symbol of a launch is in a pipeline");
      }
    case AffineTerm::Kind::Quotient:
    case AffineTerm::Kind::Remainder: {
      // Rounded down.
      const Value of = operand(0), by = number(term.by), rest = build_(Op::Rem, {of, by});
      const Value below = build_(Op::Less, {rest, number(0)});
      if (term.kind == AffineTerm::Kind::Remainder) return build_.select(below, build_(Op::Add, {rest, by}), rest);
      const Value divided = build_(Op::Div, {of, by});
      return build_.select(below, build_(Op::Sub, {divided, number(1)}), divided);
    }
    case AffineTerm::Kind::Least: return build_(Op::Min, {operand(0), operand(1)});
    case AffineTerm::Kind::Greatest: return build_(Op::Max, {operand(0), operand(1)});
  }
  throw InternalError("a term of unknown kind");
}

Value PipelineWriter::value_of(const Affine &form) {
  internal_check(form.known(), "an unknown integer is to be computed");
  Value sum = number(0);
  for (const AffineTerm &term : form.terms()) {
    Value value = value_of(term);
    const std::int64_t by = term.coefficient < 0 ? -term.coefficient : term.coefficient;
    if (by != 1) value = build_(Op::Mul, {value, number(by)});
    sum = sum.is_constant(0) && term.coefficient > 0 ? value
                                                     : build_(term.coefficient > 0 ? Op::Add : Op::Sub, {sum, value});
  }
  if (form.constant() == 0) return sum;
  if (sum.is_constant()) return number(sum.as_int() + form.constant());
  return form.constant() > 0 ? build_(Op::Add, {sum, number(form.constant())})
                             : build_(Op::Sub, {sum, number(-form.constant())});
}

Value PipelineWriter::is_inside(Value value, Value low, Value high) {
  return both(build_(Op::GreaterEqual, {value, low}), build_(Op::LessEqual, {value, high}));
}

Value PipelineWriter::clamped(Value value, Value low, Value high) {
  return build_(Op::Max, {build_(Op::Min, {value, high}), low});
}

// Removes Funcs that no array needs: derivatives often turn out not to need the values of a forward Func.
void PipelineWriter::remove_unneeded() {
  std::map<std::uint32_t, std::size_t> func_of;  // by array
  for (std::size_t f = 0; f < pipeline_.funcs.size(); ++f)
    for (std::size_t v = 0; v < pipeline_.funcs[f].types.size(); ++v)
      func_of.emplace(pipeline_.funcs[f].array + static_cast<std::uint32_t>(v), f);
  std::vector<std::vector<Value>> needs(pipeline_.funcs.size());
  for (const Stmt &stmt : trace_)
    if (const auto *store = stmt.as<Store>()) {
      std::vector<Value> &own = needs[func_of.at(store->array)];
      own.push_back(store->value);
      own.insert(own.end(), store->indices.begin(), store->indices.end());
    }
  std::vector<Value> open;
  for (const ReductionDomain &domain : pipeline_.domains)
    if (domain.predicate) open.push_back(*domain.predicate);
  std::set<std::size_t> needed;
  const auto need = [&](std::size_t f) {
    if (needed.insert(f).second) open.insert(open.end(), needs[f].begin(), needs[f].end());
  };
  for (std::size_t f = 0; f < pipeline_.funcs.size(); ++f)
    if (pipeline_.funcs[f].output) need(f);
  std::set<LocalId> seen;
  while (!open.empty()) {
    const Value next = open.back();
    open.pop_back();
    const Operation *made = next.is_local() && seen.insert(next.id()).second ? operation(next) : nullptr;
    if (!made) continue;
    if (made->op == Op::Load && func_of.contains(made->array)) need(func_of.at(made->array));
    open.insert(open.end(), made->operands.begin(), made->operands.end());
  }
  std::erase_if(trace_, [&](const Stmt &stmt) {
    const auto *store = stmt.as<Store>();
    return store && !needed.contains(func_of.at(store->array));
  });
  std::vector<Func> kept;
  for (const std::size_t f : needed) kept.push_back(std::move(pipeline_.funcs[f]));
  pipeline_.funcs = std::move(kept);
}

CapturedPipeline PipelineWriter::finish() {
  follow();
  remove_unneeded();
  pipeline_.algorithm.local_count = build_.local_count();
  pipeline_.algorithm.body = std::move(trace_);
  return std::move(pipeline_);
}

}  // namespace samite::autodiff
