// Which local arrays are on the stack of the thread that runs an instance, and which are in the launch's workspace, in
// device memory: those whose size is known when the kernel is launched alone, and those that are too large. The same
// for the tiles of a block that a thread of the CPU has alone. Of an array whose indices are all constants, the
// elements in use count on a GPU, as they are registers.
//
// This writes the space of each `Allocate`: `instance` or `workspace`, and of a block on the CPU `shared` or `device`.
// The stack's share does not depend on the number of lanes, so that it is the same on every machine. A pure function of
// a lowered kernel.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/architecture.h"

namespace samite::passes {

ir::Kernel place_arrays(ir::Kernel lowered, const Architecture &architecture);

// Whether some memory is in the workspace.
bool uses_workspace(const ir::Kernel &placed);

}  // namespace samite::passes
