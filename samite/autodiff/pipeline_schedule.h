// A schedule for the adjoint of a pipeline on the CPU, derived from its algorithm and from the schedule of the
// pipeline.
//
// Places are the other way round: the forward pipeline computes a Func where the Func that fills the output needs it;
// the adjoint computes the gradient of the Func where the gradient of an input needs it.
//
//   gradient of an array       in strips as high as the forward ones, each a task, its rows in vectors
//   gradients of stencils      in rings of rows that move along the strip, as far as one gradient alone needs them; for
//                              a strip at a time where clamped rows are read; others have a pass of their own
//   elements at edges          an update for each edge, for which the stencils are computed again
//   sums over Reductions       in registers, a block of vectors at a time; operands that are read across are first
//                              copied into rows
//   sums of all elements       parts of them in parallel, which are then added: rfactor
//
// The schedule consists of directives like a user's. If lowering refuses it, one with fewer of them replaces it.
#pragma once

#include "samite/ir/func.h"

namespace samite::autodiff {

// The adjoint, with a schedule for the CPU. `lanes`: floats in a vector.
ir::CapturedPipeline with_derived_schedule(const ir::CapturedPipeline &adjoint, const ir::CapturedPipeline &forward,
                                           int lanes);

}  // namespace samite::autodiff
