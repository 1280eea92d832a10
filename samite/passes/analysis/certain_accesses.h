// Finds the elements that every launch of a kernel accesses, as far as indices are sums of multiples of thread indices,
// loop indices, extents of arrays and integer arguments.
//
// An access counts if it is unconditional: in no branch, in no while_, and only in loops whose bounds are the same for
// all instances. All indices in the box of the launch and of those loops then occur, so the least and the greatest
// index are known exactly once the launch's extents and arguments are. A launch compares them with the arrays' extents
// (jit/out_of_bounds.h).
#pragma once

#include "samite/passes/analysis/index_forms.h"

#include <cstdint>
#include <span>
#include <vector>

namespace samite::passes {

// constant + the sum of coefficient * symbol: the number that the kernel computes, if it lies in `valid`; otherwise it
// may have wrapped around.
struct LinearNumber {
  struct Term {
    std::int64_t coefficient;
    Symbol symbol;
  };
  std::vector<Term> terms;
  std::int64_t constant = 0;
  Range valid{};
};

struct CertainLoop {
  LinearNumber begin, end;
  std::int64_t step;
};

// The index of an access in one dimension of an array.
struct CertainAccess {
  std::uint32_t array;
  std::int32_t dimension;
  bool writes;
  SourceLocation where;
  LinearNumber index;              // its locals are the indices of `loops`
  std::vector<std::size_t> loops;  // around the access, outermost first
};

struct CertainAccesses {
  // Symbol::local(i) is the index of loop i.
  std::vector<CertainLoop> loops;
  std::vector<CertainAccess> accesses;  // each index form of an array's dimension once
};

// For a structured kernel whose instances are threads.
CertainAccesses certain_accesses(const ir::Kernel &structured);

}  // namespace samite::passes
