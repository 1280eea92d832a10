// The tile of a kernel's main loop: what the kernel's code has fixed of its plan (ir/tile_plan.h), and the stages that
// a plan asks for.
//
// Pure functions.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

// For a structured tile kernel whose plan has `stages`: all loops that multiply have this many. Throws PlanRefused if
// none does.
ir::Kernel with_planned_stages(ir::Kernel structured);

// For a lowered kernel with declared main loops: its plan with the rows and columns of the sums, the terms of a step,
// and the threads, if all of its declared products agree. Throws PlanRefused if the plan asks for others.
ir::Kernel with_planned_tile(ir::Kernel lowered);

// For a lowered kernel after product_loops: its plan with the stages of the rings, if all loops that bulk copies feed
// have equal ones.
ir::Kernel with_stages_of_rings(ir::Kernel looped);

// A kernel whose loops of products have this many stages.
ir::Block with_stages_of_products(const ir::Block &block, int stages);

}  // namespace samite::passes
