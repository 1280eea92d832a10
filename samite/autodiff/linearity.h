// Whether an adjoint that the user gives is linear in its cotangents, as a derivative is.
//
// Only then is it a matrix, of which the forward mode can take the columns one by one (autodiff/tangent.h). One that
// clips its cotangent, say, is none.
#pragma once

#include "samite/ir/kernel.h"

#include <optional>

namespace samite::autodiff {

// Where it shows no linear dependence, at the latest at `where`; nothing where all that the adjoint gives is linear.
// `custom` has no custom adjoints inside (passes/inline_primals.h).
std::optional<SourceLocation> nonlinear_in_cotangents(const ir::CustomAdjoint &custom, SourceLocation where);

}  // namespace samite::autodiff
