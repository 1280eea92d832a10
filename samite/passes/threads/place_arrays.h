// Decides which local arrays are on the stack of the thread that runs an instance, and which are in the launch's
// workspace in device memory: those with a size known only at launch, and those that are too large. It decides the same
// for the tiles of a block that one CPU thread holds. On a GPU an array whose indices are all constants counts only the
// elements in use, because they become registers.
//
// The pass writes the space of each `Allocate`: `instance` or `workspace`, and for a block on the CPU `shared` or
// `device`. The stack's share does not depend on the number of lanes, so it is the same on every machine. A pure
// function of a lowered kernel.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/analysis/architecture.h"

namespace samite::passes {

ir::Kernel place_arrays(ir::Kernel lowered, const Architecture &architecture);

// Whether any memory is in the workspace.
bool uses_workspace(const ir::Kernel &placed);

}  // namespace samite::passes
