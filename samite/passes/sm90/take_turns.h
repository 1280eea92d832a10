// Lets warp groups alternate (ping-pong): while one group's products run on the tensor cores, another group runs the
// code between its products, and vice versa (compute capability 9.0; Shah et al., FlashAttention-3, 2024). Without
// turns all groups of a block wait for the same copies, multiply at the same time and then compute at the same time.
//
// It applies to loops that declare two products (`ir::LoopProducts`), which bulk copies feed
// (passes/sm90/product_loops.h), with other code between them, and without a barrier of all groups. A group's turn
// lasts from before the second product to after the first one of the next iteration; so it takes one on entry to the
// loop, and gives it on exit. With more products the tensor cores stay busy without turns: attention's gradients, heads
// of 128, take 1.1 to 1.2 times as long with them on an H100.
//
// A pure function of a lowered kernel whose threads may have roles (passes/sm90/assign_roles.h).
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel take_turns(ir::Kernel with_roles);

// The number of warp groups that alternate in a kernel; 0: none.
int groups_in_turns(const ir::Kernel &kernel);

}  // namespace samite::passes
