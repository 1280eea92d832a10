// The algorithm of a pipeline, ready to be scheduled: what each definition of each Func computes, by itself.
//
// Made of what was captured (ir/func.h). Each definition has the statements that its indices and values need, in
// structured form: operations on values, no control flow. A call of a Func is a load of the array that stands for it.
#pragma once

#include "samite/ir/func.h"

#include <optional>
#include <string>
#include <vector>

namespace samite::schedules {

struct ReductionVariable {
  ir::Variable variable;
  ir::Value begin, extent;  // made by Definition::bounds
};

struct Definition {
  ir::Block body;                  // `Let`s alone, in order
  std::vector<ir::Value> indices;  // the pure definition's are its variables
  std::vector<ir::Value> values;   // one for each value of the Func
  std::optional<ir::Value> predicate;
  // By dimension: the variable that the index is, where it goes through all of the dimension.
  std::vector<std::optional<ir::Variable>> pure;
  ir::Block bounds;                           // `Let`s that the ranges of the reduction need
  std::vector<ReductionVariable> reductions;  // the outermost first
  bool undefined = false;                     // a pure one: its values are whatever was there
  SourceLocation where;
};

struct Function {
  std::string name;
  std::vector<ScalarType> types;
  std::uint32_t array;                  // which stands for its first value; then the others
  std::optional<std::uint32_t> output;  // the array parameter that it fills, or the first of as many as it has values
  bool inline_reduction = false;
  std::vector<Definition> definitions;  // the pure one, then the updates in order
  SourceLocation where;

  int rank() const { return static_cast<int>(definitions[0].indices.size()); }
};

struct Algorithm {
  std::string name;
  std::vector<ir::Parameter> parameters;  // the pipeline's own
  std::vector<Function> functions;        // as ir::CapturedPipeline::funcs has them
  // By function: in an order in which each is called only by later ones, or by itself.
  std::vector<std::uint32_t> order;
  ir::LocalId local_count = 0;
  SourceLocation where;

  // The function that an array stands for, and which of its values; nothing of a parameter.
  struct Value {
    std::uint32_t function, number;
  };
  std::optional<Value> function_of(std::uint32_t array) const;
};

// UserError where a Func is called and never defined, where a definition cannot be, or where Funcs call each other
// in a circle.
Algorithm algorithm_of(const ir::CapturedPipeline &captured);

// The functions that a definition calls.
std::vector<std::uint32_t> called_by(const Algorithm &algorithm, const Definition &definition);

}  // namespace samite::schedules
