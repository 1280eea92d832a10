// The branches of a thread loop whose second side is a fallback that lanes rarely need: the inverse of a small matrix
// uses cofactors unless these overflow.
//
// A full vector runs code that has only the likely sides. It leaves this code at a branch that a lane takes the other
// way, and restarts in code that has both sides, masked. In a single version, both sides would share registers, which
// takes up to twice as long even if no lane needs the second one.
//
// No statistics say how often a side runs. A fallback is a large block that only computes values; the code before the
// branch is much shorter, so that little runs twice if the fallback turns out to be the usual side.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/analysis/uniformity.h"

#include <cstddef>
#include <vector>

namespace samite::codegen {

struct Likely {
  std::vector<const ir::If *> branches;  // none of them after a statement with an effect, which would run twice

  bool of(const ir::If &branch) const;
  std::size_t statements_of_fallbacks() const;
};

Likely likely_of(const ir::For &loop, const passes::Uniformity &lanes);

}  // namespace samite::codegen
