// The adjoint of a pipeline, at the level of its algorithm: it is a pipeline again.
//
// Each Func through which a gradient goes gets a Func of its gradient, for each of its values. Reads become additions:
// if a definition of g reads f(y, x - 1), the gradient of f at (y, x) has a term of the gradient of g at (y, x + 1).
// The derivatives are those of the table in autodiff/rules.h, so ties of min and max are broken as in kernels.
//
//   indices that can be solved for variables   a term of the sum that defines the gradient: stencils become stencils
//   clamped indices (repeat_edge)              the same inside, and sums over what is beyond for the elements at edges
//   other indices, as those of index arrays    an update over the variables that are left: `gradient(table(k)) += …`
//   an index that runs through a Reduction     a sum over the remaining variables
//
// Updates are undone, the last one first. `f(…) += value`, with a value that does not read f, leaves the gradient of f
// unchanged. An update without a Reduction, or one whose iterations store to different elements that no iteration
// reads, takes the gradients of the overwritten elements. If iterations read what earlier ones stored, as f(k) = f(k -
// 1) * a, the gradient of f runs through the same iterations backwards. If all iterations update the same elements, as
// products and least values do, a Func keeps the values between them, one for each iteration.
//
// The forward Funcs whose values the derivatives need are Funcs of the adjoint again, recomputed as the schedule says.
// Gradients are zero outside of the regions that the forward pipeline computes, and no elements are read there that the
// forward pipeline would not have read.
#pragma once

#include "samite/ir/func.h"

#include <vector>

namespace samite::autodiff {

struct PipelineAdjoint {
  // Its parameters are those of the pipeline, none of which it writes, and a gradient for each active array. It adds to
  // the gradients of arrays that the pipeline reads, and leaves zeros in those of arrays that it fills.
  ir::CapturedPipeline pipeline;
  std::vector<std::uint32_t> gradient_of;  // by gradient, in order: the pipeline's own parameter
};

// `active`, by the pipeline's own parameters: arrays of floating type. UserError, with the line, for an update whose
// iterations cannot be undone, if an index has no bounds that are needed, or if no gradient reaches an active array
// that the pipeline reads.
PipelineAdjoint derive_pipeline_adjoint(const ir::CapturedPipeline &captured, const std::vector<bool> &active);

}  // namespace samite::autodiff
