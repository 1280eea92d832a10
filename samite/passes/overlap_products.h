// Products of a group of warps that follow each other directly: the next begins before the one before it has ended, so
// that the tensor cores have work where a thread waits (compute capability 9.0).
//
// In loops of products with windows (passes/product_loops.h), where the next product needs nothing of the one before
// it. After assign_roles. A pure function of a lowered kernel.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel overlap_products(ir::Kernel with_roles);

}  // namespace samite::passes
