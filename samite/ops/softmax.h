// y = exp(x) / the sum of exp(x), for each row of a matrix.
//
//   ops::softmax(x, y);
//
// The row's maximum is subtracted first, so that no exponential overflows. Sums are in float, for double in double. A
// row of negative infinities gives NaN, as 0 / 0.
#pragma once

#include "samite/ops/plan_device.h"
#include "samite/ops/planned_launch.h"
#include "samite/runtime/any_buffer.h"

#include <optional>

namespace samite::ops {

struct SoftmaxOptions {
  std::optional<Stream> stream = {};  // default: the standard stream of the arrays' device
  bool add_gradients = false;         // softmax_adjoint adds to the gradient, as tapes do, instead of overwriting it
};

// x and y (rows x columns) of half, bfloat16, float or double, on one device. On a tape its adjoint is softmax_adjoint,
// unless x and y share memory. UserError if their shapes do not match, DeviceError as for a launch.
void softmax(const AnyBuffer &x, const AnyBuffer &y, const SoftmaxOptions &options = {},
             SourceLocation where = std::source_location::current());

// The launch with arguments (x, y) for that many rows and columns, planned for that device.
PlannedLaunch softmax_launch(ScalarType type, std::int64_t rows, std::int64_t columns, const PlanDevice &device,
                             SourceLocation where = std::source_location::current());

// x_gradient = y (y_gradient - the row's sum of y y_gradient): the gradient of x for that of y, without recomputing
// exponentials. All three are like y.
void softmax_adjoint(const AnyBuffer &y, const AnyBuffer &y_gradient, const AnyBuffer &x_gradient,
                     const SoftmaxOptions &options = {}, SourceLocation where = std::source_location::current());
PlannedLaunch softmax_adjoint_launch(ScalarType type, std::int64_t rows, std::int64_t columns, const PlanDevice &device,
                                     bool add_gradients = false,
                                     SourceLocation where = std::source_location::current());

}  // namespace samite::ops
