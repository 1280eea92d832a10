#include "samite/lang/variable.h"

#include "samite/base/error.h"
#include "samite/lang/capture.h"
#include "samite/lang/pipeline_trace.h"

namespace samite {

Var::Var(std::string name, SourceLocation where) : name_(std::move(name)), where_(where) {
  if (!lang::is_identifier(name_))
    throw UserError(where, "the variable name '" + name_ + "' is not an identifier (letters, digits and _)");
  if (lang::Trace *trace = lang::Trace::running(); trace && trace->pipeline()) trace->pipeline()->add_variable(*this);
}

Var Var::of_reduction(std::string name, std::uint32_t serial, ir::LocalId local, SourceLocation where) {
  return Var(std::move(name), where, serial, local);
}

ir::Value Var::value(SourceLocation where) const {
  const std::string what = "the variable '" + name_ + "'";
  lang::PipelineTrace &pipeline = lang::PipelineTrace::current(what, where);
  if (serial_ == 0) return pipeline.variable(*this);
  if (serial_ != pipeline.trace().serial())
    throw UserError(where, what + " is of another pipeline's Reduction; make one in this pipeline's function");
  return ir::Value::local(ScalarType::Int32, local_);
}

namespace lang {

ir::Value record_variable(ScalarType type, const Var &variable, SourceLocation where) {
  const ir::Value value = variable.value(where);
  return type == ScalarType::Int32 ? value : record_cast(type, value, where);
}

ReductionVariables::ReductionVariables(const std::string &name, std::span<const Interval> ranges, SourceLocation where)
    : name_(name) {
  PipelineTrace &pipeline = PipelineTrace::current("the Reduction '" + name + "'", where);
  if (!is_identifier(name))
    throw UserError(where, "the Reduction's name '" + name + "' is not an identifier (letters, digits and _)");
  std::vector<std::string> names;
  std::vector<ir::Value> bounds;
  for (const Interval &range : ranges) {
    names.push_back(ranges.size() == 1 ? name : name + std::to_string(names.size()));
    for (const Operand<std::int32_t> *bound : {&range.begin, &range.extent}) bounds.push_back(bound->value());
  }
  serial_ = pipeline.trace().serial();
  domain_ = pipeline.add_domain(names, bounds, where);
  for (const auto &range : pipeline.domain(domain_).ranges)
    variables_.push_back(Var::of_reduction(range.variable.name, serial_, range.variable.local, where));
}

const Var &ReductionVariables::variable(int dimension, SourceLocation where) const {
  if (dimension < 0 || static_cast<std::size_t>(dimension) >= variables_.size())
    throw UserError(where, "the Reduction '" + name_ + "' has no variable " + std::to_string(dimension) +
                               "; they are 0 to " + std::to_string(variables_.size() - 1));
  return variables_[static_cast<std::size_t>(dimension)];
}

void ReductionVariables::add_condition(const Operand<bool> &condition) const {
  PipelineTrace::current("the Reduction '" + name_ + "'", condition.where())
      .add_condition(domain(condition.where()), condition.value(), condition.where());
}

std::uint32_t ReductionVariables::domain(SourceLocation where) const {
  if (PipelineTrace::current("the Reduction '" + name_ + "'", where).trace().serial() != serial_)
    throw UserError(where, "the Reduction '" + name_ + "' is another pipeline's; make one in this pipeline's function");
  return domain_;
}

}  // namespace lang
}  // namespace samite
