// Chooses the loops of products that become main loops with bulk copies (passes/sm90/product_loops.h), and their
// stages: as many as fit a block's shared memory, found by trials of the later steps (jit/steps.h). The first trial of
// a loop that is not declared `pipelined` shows how many stages are too many, so that the second one fits.
#pragma once

#include "samite/jit/steps.h"

namespace samite::jit {

// The step `product_loops`. Loops that are not declared `pipelined` get as many stages as fit.
ir::Kernel with_main_loops(ir::Kernel kernel, const PlanContext &context);

// Whether a lowered kernel's tiles fit a block's shared memory if none of its loops becomes a main loop.
bool fits_shared_memory(ir::Kernel lowered, const passes::Architecture &gpu, int *trials = nullptr);

// The kernel with its main loops, after the steps of the table up to them. A trial.
ir::Kernel main_loops_of(ir::Kernel lowered, const passes::Architecture &gpu, const passes::FactsOfArrays &arrays,
                         int *trials = nullptr);

}  // namespace samite::jit
