// Simplifies a kernel: folds constants, shares repeated operations, and removes dead code.
//
// Dead code is removed before each walk. The walk folds constants (passes/simplify/fold.h). An operation that was
// computed before with the same operands becomes that value. A cast to a wider type and back becomes the original
// value. A branch on a constant becomes the side that is taken. A bool that only records which side ran becomes the
// condition. A value that a loop carries unchanged becomes its initial value. Loads are shared until anything is
// written, because two arrays may be one buffer; loads from local arrays are shared until a local array is written.
// Walks repeat until one removes nothing, so simplifying again changes nothing. Locals and local arrays are renumbered
// densely, in program order.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel simplify(const ir::Kernel &structured);

// The same, with merged scales (passes/simplify/scales.h).
ir::Kernel simplify_adjoint(const ir::Kernel &structured);

}  // namespace samite::passes
