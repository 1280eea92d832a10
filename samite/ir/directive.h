// The directives of a schedule (ir/func.h).
#pragma once

#include "samite/base/source_location.h"
#include "samite/ir/memory_space.h"
#include "samite/ir/value.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace samite::ir {

// How the last piece of a split is handled if the extent is not a multiple of the factor.
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

}  // namespace samite::ir
