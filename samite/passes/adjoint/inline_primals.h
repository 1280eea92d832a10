// Replaces custom adjoints by their primal blocks, which is the part that a forward kernel runs.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

// Whether `structured` has a custom adjoint.
bool has_custom_adjoint(const ir::Kernel &structured);

// Each custom adjoint becomes the statements of its primal block. Remaining locals keep their numbers.
ir::Kernel inline_primals(const ir::Kernel &structured);

// The same for custom adjoints inside the blocks of `custom`, which itself stays.
ir::CustomAdjoint inline_nested_primals(const ir::CustomAdjoint &custom);

}  // namespace samite::passes
