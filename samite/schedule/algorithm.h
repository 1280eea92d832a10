// The algorithm of a pipeline, ready to be scheduled: each definition of each Func separately.
//
// It is built from the captured pipeline (ir/func.h). Each definition holds the statements that its indices and values
// need, in structured form: operations on values, without control flow. A call of a Func is a load from the array that
// represents it.
//
// A Func that a directive of a schedule will create starts as a function of zeros that nothing calls. The directive
// then defines it.
#pragma once

#include "samite/ir/func.h"
#include "samite/passes/analysis/affine.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace samite::schedules {

struct ReductionVariable {
  ir::Variable variable;
  ir::Value begin, extent;  // made by Definition::bounds
};

// A reduction variable that rfactor has split: the definition has loops over other variables instead.
struct JoinedVariable {
  ir::Variable variable;
  passes::Affine value;     // a form of the others, and of previous joined variables; without `begin`
  ir::Value begin, extent;  // made by Definition::bounds
};

// Restricts a definition to value < extent. The value is factor * outer + a number below the factor.
struct Guard {
  passes::Affine value, outer;  // of variables
  std::int64_t factor;
  ir::Value extent;  // made by Definition::bounds
};

struct Definition {
  ir::Block body;                  // only `Let`s, in order
  std::vector<ir::Value> indices;  // the pure definition's are its variables
  std::vector<ir::Value> values;   // one for each value of the Func
  std::optional<ir::Value> predicate;
  // By dimension: the variable that is the index, if it covers the whole dimension.
  std::vector<std::optional<ir::Variable>> pure;
  ir::Block bounds;                           // `Let`s that the ranges of the reduction need
  std::vector<ReductionVariable> reductions;  // outermost first
  bool undefined = false;                     // of a pure one: its values are arbitrary
  std::vector<JoinedVariable> joined;
  std::vector<Guard> guards;  // in addition to the predicate
  SourceLocation where;
};

struct Function {
  std::string name;
  std::vector<ScalarType> types;
  std::uint32_t array;                  // represents its first value; the next ones the others
  std::optional<std::uint32_t> output;  // the array parameter for its first value; the next ones for the others
  bool inline_reduction = false;
  std::vector<Definition> definitions;  // the pure one, then the updates in order
  SourceLocation where;

  int rank() const { return static_cast<int>(definitions[0].indices.size()); }
};

// The condition of a specialization, evaluated before any loop.
struct Condition {
  ir::Block body;   // only `Let`s
  ir::Value value;  // a bool
};

// The indices of the first element of an array that does not begin at zeros.
struct ArrayOrigin {
  ir::Block body;  // `Let`s alone
  std::vector<ir::Value> indices;
};

struct Algorithm {
  std::string name;
  std::vector<ir::Parameter> parameters;  // the pipeline's own
  std::vector<Function> functions;        // as ir::CapturedPipeline::funcs has them
  // The functions by number, in an order in which each is called only by later ones, or by itself.
  std::vector<std::uint32_t> order;
  ir::LocalId local_count = 0;
  std::vector<Condition> conditions;             // of the schedule's specializations
  std::map<std::uint32_t, ArrayOrigin> origins;  // by array
  std::optional<std::uint32_t> promises;         // as ir::CapturedPipeline has it
  SourceLocation where;

  // The function and the number of its value that an array represents; empty for a parameter.
  struct Value {
    std::uint32_t function, number;
  };
  std::optional<Value> function_of(std::uint32_t array) const;
};

// UserError if a Func is called but never defined, if a definition is impossible, or if Funcs call each other in a
// cycle.
Algorithm algorithm_of(const ir::CapturedPipeline &captured);

// A condition in a schedule of the same pipeline. UserError if it reads an array.
Condition condition_of(const ir::CapturedPipeline &captured, Algorithm &algorithm, const ir::Value &condition,
                       SourceLocation where);

// Recomputes Algorithm::order. UserError if functions call each other in a cycle.
void put_in_order(Algorithm &algorithm);

// The functions that a definition calls.
std::vector<std::uint32_t> called_by(const Algorithm &algorithm, const Definition &definition);

}  // namespace samite::schedules
