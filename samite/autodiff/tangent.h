// The tangent of a kernel: forward-mode differentiation, alongside the computation itself.
//
// For y = f(x) the tangent kernel computes y and ẏ = (∂f/∂x) ẋ in one run (A. Griewank, A. Walther, Evaluating
// Derivatives, 2nd ed. 2008, ch. 3), by the same table of rules as the adjoint (autodiff/rules.h). Its parameters are
// those of the kernel, followed by one array of tangents for each active array parameter.
//
// Values are available when their tangents are computed, so nothing is stored and little is refused: a gradient through
// an inactive array, and a custom adjoint that is not linear in its cotangents. A linear one is transposed: it runs
// once for each result, with a cotangent of one.
#pragma once

#include "samite/ir/kernel.h"

#include <vector>

namespace samite::autodiff {

struct Tangent {
  ir::Kernel kernel;                       // structured form, simplified
  std::vector<std::uint32_t> gradient_of;  // by tangent parameter, in order: its primal parameter
};

// `active` is by parameter: arrays of floating type that have a tangent.
Tangent derive_tangent(const ir::Kernel &structured, const std::vector<bool> &active);

}  // namespace samite::autodiff
