// Forms clusters of blocks that multiply with the same windows of one factor and load them for each other: each block
// starts the copies of a part of each window, and the copy engine delivers that part to all of them by multicast
// (compute capability 9.0). So the level-2 cache serves each window once per cluster.
//
// The blocks of a cluster are neighbours in one of the last two dimensions of the launch. A factor is shared if its
// windows do not depend on the block's index in that dimension. The pass takes the dimension in which more bytes are
// shared. The producers of all blocks of a cluster start the same copies in the same order: no condition around the
// copies, and no count of them, may depend on that index.
//
// Products of 8 bits, and main loops that do more than multiply, are not limited by the level-2 cache: on an H100
// clusters make them up to 2 % slower, while tf32 becomes 5 to 7 % faster and 16 bits 0 to 13 %. On an H200 8-bit
// products of two alternating teams are 1 to 3 % slower in clusters.
//
// The number of blocks in that dimension must be a multiple of the cluster's size. The launcher says in which
// dimensions it is. `TilePlan` asks for clusters of a kernel of any type, in a launch of any number of pairs, or for
// none; for the dimension; and for the factors that are shared.
//
// A pure function of a lowered kernel whose threads may have roles (passes/sm90/assign_roles.h).
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/analysis/architecture.h"

#include <cstdint>

namespace samite::passes {

// `paired`: dimensions of the launch with an even number of blocks, as bits. Throws PlanRefused if the plan asks for
// clusters and the kernel does not qualify. Otherwise the plan of a kernel with producer warps has the blocks of a
// cluster afterwards, and what they share.
ir::Kernel form_clusters(ir::Kernel with_roles, const Architecture &architecture, std::uint64_t paired);

}  // namespace samite::passes
