// Gives the threads of a block roles: one warp group starts the bulk copies of the main loop (the producer), and all
// other threads do the rest (the consumers), so that consumer warps never wait to refill a buffer (compute capability
// 9.0).
//
// The producer's threads come after the block's own. They run `Roles::producing`: the code that finds the main loop's
// windows, and its copies. The consumers run the body. Its products wait for the copies, and its barriers count the
// consumers alone.
//
// The kernel is persistent: a multiprocessor runs one such block at a time, which takes one block index after another.
// So the copies for the next index run while the consumers still store the results of this one.
//
// The pass changes a kernel only if all of this holds, and leaves any other kernel as it is:
//
//   - It has one main loop, or several products that are steps of one loop.
//   - The windows and the number of steps depend only on block indices, arguments, extents, and elements of arrays that
//     the kernel does not write.
//   - The sums are in registers.
//   - The buffers or the sums leave a multiprocessor no room for a second block. Several small blocks hide each other's
//     latency better than roles do.
//   - The buffers, which are always in use, leave enough shared memory for the rest.
//   - No operation on whole tiles has barriers of its own, as reductions do unless each warp holds whole rows.
//   - Nothing is in the workspace, which is divided among the threads of a block.
//
// A pure function of a lowered kernel.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/analysis/architecture.h"
#include "samite/passes/analysis/array_facts.h"

#include <optional>

namespace samite::passes {

ir::Kernel assign_roles(ir::Kernel planned, const Architecture &architecture, const FactsOfArrays &arrays);

// The registers of a thread in each role. Empty if all keep what they have.
std::optional<ir::Roles::Registers> registers_of_roles(const ir::Kernel &with_roles);

}  // namespace samite::passes
