// The derivatives of operations on tiles that are not done element by element; autodiff/rules.h has the others.
//
// A reduction to the least or greatest element follows the first one that is it; a product of elements is derived as
// the product of the others, also where some are zero. The cotangent of a product of matrices is rounded to the type of
// the factors before it is multiplied with one, and each factor has its own product: a factor without a gradient has
// none. Scans are in autodiff/tile_scan_rules.h, factors and solutions in autodiff/tile_algebra_rules.h.
#pragma once

#include "samite/passes/builder.h"

#include <vector>

namespace samite::autodiff {

// Whether the operation is one of these.
bool is_tile_operation(ir::Op op);

// What the cotangent `seed` of the operation's value, `result`, adds to the gradient of operand `i`.
ir::Value tile_gradient(passes::Builder &builder, const ir::Operation &operation, ir::Value result, ir::Value seed,
                        std::size_t i);

// The result's tangent, for those of the operands: zeros where they have none.
ir::Value tile_tangent(passes::Builder &builder, const ir::Operation &operation, ir::Value result,
                       const std::vector<ir::Value> &tangents);

}  // namespace samite::autodiff
