// The derivatives of scans.
//
// All but the sum's are recurrences of their own, y[i] = a[i] y[i - 1] + b[i], along the scan or against it. The
// gradient of a product is the product of all before times what the recurrence of all after comes to, and divides by
// nothing: it is right where elements are zero. A least or greatest element follows the first one that is it; the
// gradient goes to the elements that are less or greater than all before them.
#pragma once

#include "samite/passes/builder.h"

#include <vector>

namespace samite::autodiff {

ir::Value scan_gradient(passes::Builder &builder, const ir::Operation &scan, ir::Value result, ir::Value seed,
                        std::size_t i);
ir::Value scan_tangent(passes::Builder &builder, const ir::Operation &scan, ir::Value result,
                       const std::vector<ir::Value> &tangents);

}  // namespace samite::autodiff
