#include "samite/lang/inline_reduction.h"

#include "samite/base/error.h"
#include "samite/lang/pipeline_trace.h"

namespace samite::lang {
namespace {

// The Func of an inline reduction that is being made, and the element that its definitions are about.
class ReducingFunc {
 public:
  ReducingFunc(const char *name, std::vector<ScalarType> types, const ReductionVariables &over, ir::Value value,
               SourceLocation where)
      : pipeline_(PipelineTrace::current(name, where)),
        types_(types),
        element_{pipeline_.trace().serial(), 0, no_indices(), 0, where} {
    pipeline_.require_top(std::string(name) + " of a Reduction is", where);
    const std::uint32_t domain = over.domain(where);
    for (ir::LocalId variable : variables(domain, value)) {
      const auto other = pipeline_.domain_of(variable);
      if (other == domain) continue;
      const std::string what = std::string(name) + ": the value depends on ";
      if (other)
        throw UserError(where, what + "'" + pipeline_.variable_name(variable) +
                                   "', which is another Reduction's: define a Func of a Var in its place, and call "
                                   "that with '" +
                                   pipeline_.variable_name(variable) + "'");
      if (static_cast<std::size_t>(element_.rank) == maximum_indices)
        throw UserError(where, what + "more than " + std::to_string(maximum_indices) + " variables");
      element_.indices[static_cast<std::size_t>(element_.rank++)] = ir::Value::local(ScalarType::Int32, variable);
    }
    PipelineTrace::Declaration declaration{name, std::move(types), where};
    declaration.inline_reduction = true;
    const Stage::Handle func{element_.serial, pipeline_.declare(std::move(declaration))};
    element_ = pipeline_.access(func, element_.indices, element_.rank, where);
  }

  ir::Value load(std::size_t value) const {
    Access access = element_;
    access.array += static_cast<std::uint32_t>(value);
    return access.load(types_[value]);
  }
  void define(const std::vector<ir::Value> &values) { pipeline_.define(element_, values); }

 private:
  std::set<ir::LocalId> variables(std::uint32_t domain, ir::Value value) {
    std::vector<ir::Value> values{value};
    if (auto condition = pipeline_.domain(domain).predicate) values.push_back(*condition);
    return pipeline_.dependencies(values).variables;
  }

  PipelineTrace &pipeline_;
  std::vector<ScalarType> types_;
  Access element_;
};

}  // namespace

ir::Value reduce_inline(const InlineReduction &reduction, const ReductionVariables &over, ir::Value value,
                        SourceLocation where) {
  const ScalarType type = value.type();
  ReducingFunc func(reduction.name, {type}, over, value, where);
  func.define({reduction.initial});
  func.define({record(reduction.op, type, {func.load(0), value}, where)});
  return func.load(0);
}

std::vector<ir::Value> find_inline(const InlineReduction &reduction, const ReductionVariables &over, ir::Value value,
                                   SourceLocation where) {
  std::vector<ScalarType> types{value.type()};
  const auto ranges = PipelineTrace::current(reduction.name, where).domain(over.domain(where)).ranges;
  types.resize(1 + ranges.size(), ScalarType::Int32);
  ReducingFunc func(reduction.name, types, over, value, where);

  std::vector<ir::Value> initial{reduction.initial}, next, found;
  for (const auto &range : ranges) initial.push_back(range.begin);
  func.define(initial);
  const ir::Value so_far = func.load(0);
  const ir::Value better = record(reduction.op, ScalarType::Bool, {value, so_far}, where);
  next.push_back(record(ir::Op::Select, value.type(), {better, value, so_far}, where));
  for (std::size_t d = 0; d < ranges.size(); ++d) {
    const ir::Value here = ir::Value::local(ScalarType::Int32, ranges[d].variable.local);
    next.push_back(record(ir::Op::Select, ScalarType::Int32, {better, here, func.load(d + 1)}, where));
  }
  func.define(next);
  for (std::size_t v = 0; v < types.size(); ++v) found.push_back(func.load(v));
  return found;
}

}  // namespace samite::lang
