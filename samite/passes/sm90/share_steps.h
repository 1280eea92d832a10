// Splits the steps of a main loop among the blocks of a cluster, for launches with so few blocks that most
// multiprocessors would be idle (split-K within a cluster; compute capability 9.0).
//
// Each block of the cluster runs its part of the steps. The partial sums are added up through distributed shared
// memory, in the buffers that the main loop no longer needs: each block adds up a slice of the sums, in the order of
// the steps, and sends it to the first block. The first block runs the epilogue, and the others finish. Unlike
// passes/tiles/split_sums.h this needs no array and no second kernel, but it has at most as many parts as a cluster has
// blocks.
//
// The main loop must be the only one of its kernel, at the outermost level, and its sums must be in registers and start
// at zero. No store, print or check precedes it. The sums are added in another order than in one loop, but in the same
// order in every launch with the same number of parts.
//
// A pure function of a lowered kernel whose threads may have roles (passes/sm90/assign_roles.h).
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/analysis/architecture.h"

#include <cstdint>

namespace samite::passes {

// The largest cluster that every device with clusters supports.
inline constexpr std::int64_t most_step_parts = 8;

// With this many parts; in one if the kernel does not qualify. Throws PlanRefused if the plan asks for parts in
// clusters and the kernel does not qualify. Otherwise the plan of a kernel with a main loop has the number of parts
// afterwards.
ir::Kernel share_steps(ir::Kernel with_roles, const Architecture &architecture, std::int64_t parts);

// The best number of parts for a launch of `blocks` blocks of `steps` steps each; 1: no split. A pure function.
std::int64_t parts_of_steps(std::int64_t blocks, std::int64_t steps, int multiprocessors);

}  // namespace samite::passes
