// Which loops of products become main loops fed by bulk copies (passes/product_loops.h), and with how many stages: as
// many as a block's shared memory has room for, which trials of the following steps find out (jit/steps.h).
#pragma once

#include "samite/jit/steps.h"

namespace samite::jit {

// The step `product_loops`. Loops that are not declared `pipelined` get as many stages as fit.
ir::Kernel with_main_loops(ir::Kernel kernel, const PlanContext &context);

// Whether a block's shared memory has room for a lowered kernel's tiles if none of its loops becomes a main loop.
bool fits_shared_memory(ir::Kernel lowered, const passes::Architecture &gpu);

// The kernel with its main loops, as far as the table goes up to them. A trial.
ir::Kernel main_loops_of(ir::Kernel lowered, const passes::Architecture &gpu, const passes::FactsOfArrays &arrays);

}  // namespace samite::jit
