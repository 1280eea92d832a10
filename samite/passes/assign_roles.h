// A block whose threads have roles: one group of four warps starts the bulk copies of its loop of products, all others
// do the rest, so that nobody who multiplies waits for free buffers (compute capability 9.0).
//
// The copying threads are behind the block's own. They run `Kernel::producing`: what finds the windows of the loop, and
// the loop's copies. The others run the body, in which the loop's products wait for the copies, and barriers are for
// the body's threads alone.
//
// A multiprocessor has one such block at a time, which takes one place of the launch after another, so that copies for
// the next place run while the others store.
//
// A kernel is such a one where it has one loop of products, or several that are steps of a loop, whose windows and
// number follow from the block's indices, arguments, extents, and elements of arrays that the kernel does not write to,
// and whose sums are in registers; where its buffers or its sums leave a multiprocessor no room for two blocks, since
// several small ones hide each other's waiting better; where the buffers, which are in use all the time, leave room for
// all else in shared memory; where no operation on whole tiles has barriers of its own, as reductions have but those of
// rows that warps have whole; and where nothing is in the workspace, of which each thread has a share. All other
// kernels are left as they are.
//
// Before memory is planned. A pure function of a lowered kernel.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/architecture.h"
#include "samite/passes/array_facts.h"

#include <optional>

namespace samite::passes {

ir::Kernel assign_roles(ir::Kernel planned, const Architecture &architecture, const FactsOfArrays &arrays);

// How many registers a thread of each role has of a multiprocessor's, once it has started: one that starts copies needs
// few, one that multiplies many. Nothing where all keep what they have.
struct RegistersOfRoles {
  int producing, multiplying;
};
std::optional<RegistersOfRoles> registers_of_roles(const ir::Kernel &with_roles);

}  // namespace samite::passes
