// Folds, shares and prunes: the same kernel with less in it.
//
// In one walk: constants are folded (passes/fold.h), an operation that was computed before with the same operands is
// that value, a branch on a constant is replaced by the side taken, a bool that only says which side ran is the
// condition, a value that a loop carries unchanged is the value it started with. Loads are shared until anything is
// written, since two arrays may be one buffer; loads from local arrays until a local array is written. Dead code goes
// before. Walks follow one another until one takes nothing away, so that simplifying again changes nothing. Locals and
// local arrays are numbered anew, densely, in program order.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel simplify(const ir::Kernel &structured);

// The same, and scales are merged (passes/scales.h).
ir::Kernel simplify_adjoint(const ir::Kernel &structured);

}  // namespace samite::passes
