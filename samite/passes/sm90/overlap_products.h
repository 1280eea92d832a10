// Overlaps products of a warp group that follow each other directly: the next one starts before the previous one has
// ended, so that the tensor cores stay busy while a thread waits (compute capability 9.0).
//
// Applies to loops with declared products (`ir::LoopProducts`) that bulk copies feed (passes/sm90/product_loops.h), if
// the next product is independent of those that have not ended. A pure function of a lowered kernel whose threads may
// have roles (passes/sm90/assign_roles.h).
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel overlap_products(ir::Kernel with_roles);

}  // namespace samite::passes
