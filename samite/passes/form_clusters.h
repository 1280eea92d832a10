// Blocks that multiply with the same windows of one factor bring them to each other: each starts the copies of a part
// of each window, which the copy engine delivers to all (compute capability 9.0). Level 2 of the cache then hands out a
// window once for all blocks of a cluster.
//
// The blocks of a cluster lie beside each other in one of the last two dimensions of the launch. A factor is shared
// where its windows do not depend on the block's index there; of the two dimensions, the pass takes the one in which
// more bytes are shared. The copying threads of all blocks of a cluster start the same copies in the same order: no
// condition around them and no number of them depends on that index.
//
// Products of 8 bits, and loops that do more than multiply, do not wait for level 2: measured on an H100 they are up to
// 2 % slower in clusters, where tf32 is 5 to 7 % faster, and 16 bits 0 to 13 %. On an H200, products of 8 bits in teams
// are 1 to 3 % slower in clusters.
//
// The launch must have a multiple of the cluster's blocks in that dimension, which whoever launches tells.
//
// After assign_roles. A pure function of a lowered kernel.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/architecture.h"

#include <cstdint>

namespace samite::passes {

// `paired`: dimensions of the launch that have an even number of blocks, as bits.
ir::Kernel form_clusters(ir::Kernel with_roles, const Architecture &architecture, std::uint64_t paired);

}  // namespace samite::passes
