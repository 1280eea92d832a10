// Writes a captured pipeline (ir/func.h), definition by definition: internal to the adjoints of pipelines.
//
// Integers are also forms (passes/analysis/affine.h) of parameters, of extents, and of integers that were given a name.
#pragma once

#include "samite/ir/func.h"
#include "samite/passes/analysis/interval.h"
#include "samite/passes/simplify/builder.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace samite::autodiff {

class PipelineWriter {
 public:
  // A Func of the new pipeline.
  struct Handle {
    std::uint32_t array = 0;
    std::vector<ScalarType> types;
    std::vector<ir::Value> variables;  // of its first definition
  };

  PipelineWriter(std::string name, ir::LocalId first_local, SourceLocation where);

  // All parameters of the pipeline come before its first Func.
  std::uint32_t add_parameter(ir::Parameter parameter);
  void add_origin(std::uint32_t array, std::vector<ir::Value> indices, SourceLocation where);
  const std::vector<ir::Parameter> &parameters() const { return pipeline_.algorithm.parameters; }
  // The array that represents promises, made on first use.
  std::uint32_t promises();

  passes::Builder &build() { return build_; }
  // The operation that defines a local; null for a variable.
  const ir::Operation *operation(const ir::Value &value);

  // The Var of this name.
  ir::Value variable(const std::string &name, SourceLocation where);
  struct Range {
    std::string name;
    ir::Value begin, extent;
  };
  // The variables of a Reduction; they may be renamed to differ from other variables.
  std::vector<ir::Value> reduction(const std::vector<Range> &ranges, SourceLocation where);
  // The number of the last Reduction, and a condition for one of them.
  std::size_t last_reduction() const { return pipeline_.domains.size() - 1; }
  void restrict(std::size_t number, ir::Value predicate) { pipeline_.domains[number].predicate = predicate; }

  Handle declare(const std::string &name, std::vector<ScalarType> types, std::vector<ir::Value> variables,
                 std::optional<std::uint32_t> output, SourceLocation where);
  void define(const Handle &func, const std::vector<ir::Value> &indices, const std::vector<ir::Value> &values,
              SourceLocation where);
  ir::Value call(const Handle &func, std::size_t value, const std::vector<ir::Value> &indices);

  // i32s.
  ir::Value value_of(const passes::Affine &form);
  // A symbol for an integer that depends on no variable.
  passes::Affine name(ir::Value value);
  passes::Affine short_form(const passes::Affine &form);
  ir::Value as_index(ir::Value value) { return build_.cast(ScalarType::Int32, value); }
  ir::Value number(std::int64_t value) const { return ir::Value::constant(ScalarType::Int32, value); }
  // low <= value <= high
  ir::Value is_inside(ir::Value value, ir::Value low, ir::Value high);
  ir::Value clamped(ir::Value value, ir::Value low, ir::Value high);
  ir::Value both(ir::Value a, ir::Value b) { return build_(ir::Op::And, {a, b}); }

  ir::CapturedPipeline finish();

 private:
  void follow();
  void remove_unneeded();
  ir::Value value_of(const passes::AffineTerm &term);

  ir::CapturedPipeline pipeline_;
  passes::Builder build_;
  ir::Block trace_;
  std::unordered_map<ir::LocalId, ir::Operation> made_;
  std::map<std::string, ir::LocalId> variables_;
  std::set<std::string> names_;  // of variables
};

}  // namespace samite::autodiff
