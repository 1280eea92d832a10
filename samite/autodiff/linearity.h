// Whether a custom adjoint is linear in its cotangents, as a derivative is.
//
// A linear adjoint is a matrix, whose rows the forward mode computes one by one (autodiff/tangent.h). An adjoint that
// clips its cotangent, say, is not linear.
#pragma once

#include "samite/ir/kernel.h"

#include <optional>

namespace samite::autodiff {

// Where it shows no linear dependence, at the latest at `where`; nothing where all that the adjoint gives is linear.
// `custom` has no custom adjoints inside (passes/inline_primals.h).
std::optional<SourceLocation> nonlinear_in_cotangents(const ir::CustomAdjoint &custom, SourceLocation where);

}  // namespace samite::autodiff
