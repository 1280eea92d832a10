// Whether a custom adjoint is linear in its cotangents, as a derivative is.
//
// A linear adjoint is a matrix, whose rows the forward mode computes one by one (autodiff/tangent.h). An adjoint that
// clips its cotangent, for example, is not linear.
#pragma once

#include "samite/ir/kernel.h"

#include <optional>

namespace samite::autodiff {

// The place of the first nonlinear dependence, at the latest `where`; empty if the adjoint is linear. `custom` contains
// no custom adjoints (passes/adjoint/inline_primals.h).
std::optional<SourceLocation> nonlinear_in_cotangents(const ir::CustomAdjoint &custom, SourceLocation where);

}  // namespace samite::autodiff
