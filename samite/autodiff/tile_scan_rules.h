// Derivatives of scans.
//
// The derivative of a sum is a sum. All others are recurrences, y[i] = a[i] y[i - 1] + b[i], along the scan or against
// it. The gradient of a product is the product of all elements before times the recurrence over all after. It has no
// divisions, so it is correct even for zeros. The gradient of a minimum or maximum goes to the first such element: to
// the elements that are less or greater than all before them.
#pragma once

#include "samite/passes/simplify/builder.h"

#include <vector>

namespace samite::autodiff {

ir::Value scan_gradient(passes::Builder &builder, const ir::Operation &scan, ir::Value result, ir::Value seed,
                        std::size_t i);
ir::Value scan_tangent(passes::Builder &builder, const ir::Operation &scan, ir::Value result,
                       const std::vector<ir::Value> &tangents);

}  // namespace samite::autodiff
