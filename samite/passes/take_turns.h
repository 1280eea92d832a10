// Groups of warps that multiply and compute in turn: where one group's products go to the tensor cores, another does
// what lies between its products, and then the other way round (compute capability 9.0; Shah et al., FlashAttention-3,
// 2024, call it ping-pong). Without turns all groups of a block wait for the same copies, multiply at the same time and
// then compute at the same time.
//
// A loop is such a one where each iteration has two products of windows (passes/product_loops.h), does something else
// between them, and has no barrier of all groups. A group has its turn from before the second product to after the
// first one of the next iteration; so it has one as well where it enters the loop, which it gives where it leaves. With
// more products the tensor cores have work without turns: attention's gradients, heads of 128, take 1.1 to 1.2 times as
// long with them on an H100.
//
// After assign_roles. A pure function of a lowered kernel.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel take_turns(ir::Kernel with_roles);

// How many groups of warps take turns in a kernel; 0: none do.
int groups_in_turns(const ir::Kernel &kernel);

}  // namespace samite::passes
