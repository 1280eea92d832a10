// Folds, shares and prunes: the same kernel with less in it.
//
// Before each walk dead code is removed. The walk folds constants (passes/fold.h). An operation that was computed
// before with the same operands becomes that value, and a cast to a wider type and back what it was of. A branch on a
// constant becomes the side that is taken. A bool that only says which side ran becomes the condition. A value that a
// loop carries unchanged becomes the value it started with. Loads are shared until anything is written, since two
// arrays may be one buffer; loads from local arrays until a local array is written. Walks repeat until one removes
// nothing, so that simplifying again changes nothing. Locals and local arrays get new numbers, densely, in program
// order.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel simplify(const ir::Kernel &structured);

// The same, and scales are merged (passes/scales.h).
ir::Kernel simplify_adjoint(const ir::Kernel &structured);

}  // namespace samite::passes
