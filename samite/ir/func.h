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

// What the last piece of a split does where the extent is no multiple of the factor.
enum class Tail : std::uint8_t {
  automatic,                // guard
  guard,                    // the last chunk is shorter: computes nothing beyond the extent
  shift_inwards,            // the last chunk begins earlier, so that some elements are computed twice
  round_up,                 // the last chunk is full: computes more than required
  predicate,                // the last chunk is full, and its iterations beyond the extent are masked
  predicate_loads,          // it is full: stores more than required, and iterations beyond the extent load nothing
  predicate_stores,         // it is full: loads more than required, and iterations beyond the extent store nothing
  shift_inwards_and_blend,  // it begins earlier, and stores only what was not computed before
  round_up_and_blend = predicate_stores,  // Halide's name for vector stores that are masked by blending
};

// One call of a Func's scheduling functions.
struct Directive {
  enum class Kind : std::uint8_t {
    split,    // names old, outer, inner; numbers factor; tail
    fuse,     // names outer, inner, fused
    reorder,  // names, the innermost one first
    rename,   // names old, new
    serial,
    unroll,
    vectorize,
    parallel,
    gpu_block,
    gpu_thread,  // names of one loop
    compute_inline,
    compute_root,
    compute_at,  // other, names of its loop
    store_root,
    store_at,         // other, names of its loop
    store_in,         // space
    reorder_storage,  // names, the innermost one first
    pad,              // names of a dimension; numbers of elements added to each row of it
    fold_storage,     // names of a dimension; numbers its period
    bound,            // names of a dimension; numbers begin, extent
    align_bounds,     // names of a dimension; numbers modulus
    atomic,
    allow_race_conditions,
    rfactor,       // names of a reduction variable, of its new variable, and so on in pairs; other is the new Func
    in,            // other is the new Func between this one and its callers, or only these consumers if there are any
    compute_with,  // other, other_definition, names of its loop
    specialize,    // condition, which depends on no variable: a copy of the definition as scheduled so far
    pipelined,     // numbers stages
    clone_in,      // other is the new Func with the same definitions, which these consumers call instead
  };

  Kind kind;
  std::uint32_t func;
  std::uint32_t definition = 0;  // 0: the pure one; n: the n-th update
  std::vector<std::string> names{};
  std::vector<std::int64_t> numbers{};
  Tail tail = Tail::automatic;
  MemorySpace space = MemorySpace::instance;
  std::optional<std::uint32_t> other{};
  std::optional<Value> condition{};
  SourceLocation where{};
  std::uint32_t other_definition = 0;
  std::vector<std::uint32_t> consumers{};  // Funcs
  // The number of the directive in the schedule, a specialize, whose copy of the definition this directive changes.
  std::optional<std::uint32_t> specialization{};
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
  // The parameter that stands for promises: `load @promise_clamped[%1, %2, %3]` is %1, of which the user says that it
  // is no less than %2 and no more than %3.
  std::optional<std::uint32_t> promises;
};

}  // namespace samite::ir
