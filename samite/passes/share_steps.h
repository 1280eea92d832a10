// Blocks of a cluster that share the steps of a loop of products, where a launch has so few blocks that most
// multiprocessors would have none (compute capability 9.0).
//
// Each block of the cluster runs its part of the steps. What they have found is added up through the shared memory of
// all of them, in the memory that the loop's windows have left: each block adds up a part of the sums, in the order of
// the steps, and hands it to the first one. That goes on with what follows the loop, and the others are done. No array
// is needed, and no further launch, as passes/split_sums.h needs them, which may have more parts than a cluster has
// blocks.
//
// The loop is the only one of its kernel, at the outermost level, and its sums are in registers and begin at zero.
// Before it nothing is written to arrays, and nothing said. Sums are added in another order than in
// one loop, which is the same in every launch of as many parts.
//
// After assign_roles. A pure function of a lowered kernel.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/architecture.h"

#include <cstdint>
#include <optional>

namespace samite::passes {

// A cluster has at most so many blocks on every device that has clusters.
inline constexpr std::int64_t most_step_parts = 8;

// In so many parts; the kernel itself where it is no such one, or they are 1.
ir::Kernel share_steps(ir::Kernel with_roles, const Architecture &architecture, std::int64_t parts);

// Of a kernel's loop of products: the memory of its windows that has room for the sums of all threads, as each has them
// in its registers. Nothing where neither factor's has.
std::optional<ir::LocalArrayId> memory_for_sums(const ir::Kernel &kernel, const ir::TileCall &loop);

// In how many parts a launch of so many blocks is worth it, each of so many steps; 1: in none. A pure function.
std::int64_t parts_of_steps(std::int64_t blocks, std::int64_t steps, int multiprocessors);

}  // namespace samite::passes
