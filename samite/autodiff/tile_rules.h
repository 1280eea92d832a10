// Derivatives of operations on whole tiles. autodiff/rules.h has those of element-wise operations.
//
// A minimum or maximum passes its gradient to the first such element. The derivative of a product of elements is the
// product of the others, even if some are zero. The cotangent of a matrix product is rounded to the type of the factors
// before it is multiplied by a factor. The gradient of each factor is a separate product, omitted if the factor has no
// gradient. autodiff/tile_scan_rules.h has scans, autodiff/tile_algebra_rules.h Cholesky factors and triangular
// systems.
#pragma once

#include "samite/passes/simplify/builder.h"

#include <vector>

namespace samite::autodiff {

// Whether the operation is one of these.
bool is_tile_operation(ir::Op op);

// The contribution to the gradient of operand `i`, for the cotangent `seed` of the operation's value `result`.
ir::Value tile_gradient(passes::Builder &builder, const ir::Operation &operation, ir::Value result, ir::Value seed,
                        std::size_t i);

// The tangent of the result, for the tangents of the operands: zeros for an operand without one.
ir::Value tile_tangent(passes::Builder &builder, const ir::Operation &operation, ir::Value result,
                       const std::vector<ir::Value> &tangents);

}  // namespace samite::autodiff
