// Captured pipelines: Funcs, their definitions, and their schedules.
//
// A Func is a function on a grid of integers. Its first definition gives its value everywhere: blur(y, x) = …, where
// the indices are different variables. Each further definition updates some of its elements, in order, for each point
// of the domains of its reduction variables.
//
// The algorithm is captured as a kernel. After the pipeline's own parameters it has an array for each value of each
// Func: `load @blur[%3, %4]` is a call, `store @blur[%3, %4] = %9` a definition. Indices that are variables are locals
// without a definition. A schedule is a list of directives, kept apart from the algorithm.
//
// A definition consists of the statements that its store's operands depend on. They may be anywhere before the store,
// and may be mixed with those of other definitions and of conditions in schedules. A Func with several values has one
// store for each, directly after each other. In an update, an index that is the same variable as in the first
// definition, in the same position, covers the whole Func; all other variables belong to domains.
//
// An array may begin elsewhere than at zeros: its loads and stores then have indices from its origin on.
//
// A parameter for a Func's value has the Func's rank, 0 to 8, and a name that may differ from the Func's.
#pragma once

#include "samite/ir/directive.h"
#include "samite/ir/kernel.h"

#include <optional>
#include <string>
#include <vector>

namespace samite::ir {

inline constexpr int maximum_func_rank = 8;

// A variable, an i32: its local in the captured kernel.
struct Variable {
  std::string name;
  LocalId local;
  SourceLocation where;
};

// Variables that take the values begin, begin + 1, …, begin + extent - 1, the first one outermost, restricted to the
// points where the condition holds.
struct ReductionDomain {
  struct Range {
    Variable variable;
    Value begin, extent;  // integers that depend on no variable
  };
  std::vector<Range> ranges;
  std::optional<Value> predicate;  // a bool, which may depend on variables
  SourceLocation where;
};

struct Func {
  std::string name;
  std::vector<ScalarType> types;        // of its values: one, or more
  std::uint32_t array;                  // the parameter of the captured kernel that is its first value; then the others
  int rank = -1;                        // -1: never called or defined
  std::optional<std::uint32_t> output;  // the array parameter that it fills, or the first of several for its values
  bool inline_reduction = false;        // made by sum(r, …) and similar functions
  bool of_schedule = false;  // made by a directive (in, clone_in, rfactor) of a schedule, without a store in the kernel
  SourceLocation where;
};

// The indices of an array's first element.
struct Origin {
  std::uint32_t array;         // one of the pipeline's own parameters
  std::vector<Value> indices;  // integers that depend on no variable
  SourceLocation where;
};

struct CapturedSchedule {
  enum class For : std::uint8_t { cpu, cuda, name } target;
  std::string name;  // "cpu" and "cuda" for these
  std::vector<Directive> directives;
  SourceLocation where;
};

struct CapturedPipeline {
  Kernel algorithm;                 // in captured form; its parameters are the pipeline's own, then the Funcs' values
  std::uint32_t parameters;         // how many of them are the pipeline's own
  std::vector<Variable> variables;  // that belong to no domain
  std::vector<ReductionDomain> domains;
  std::vector<Func> funcs;
  std::vector<CapturedSchedule> schedules;
  std::vector<Origin> origins;  // of arrays that do not begin at zeros; loads and stores have indices from there on
  // The parameter that represents promises: `load @promise_clamped[%1, %2, %3]` is %1, which the user promises to be
  // between %2 and %3.
  std::optional<std::uint32_t> promises;
};

}  // namespace samite::ir
