// y = exp(x) / the sum of exp(x), of each row of a matrix.
//
//   ops::softmax(x, y);
//
// The row's largest element is subtracted first, so that no power overflows. Sums are in float, of double in double.
// A row of infinities below zero gives NaN, as 0 / 0.
#pragma once

#include "samite/ops/plan_device.h"
#include "samite/ops/planned_launch.h"
#include "samite/runtime/any_buffer.h"

namespace samite::ops {

// x and y (rows x columns) of half, bfloat16, float or double, on one device. The launch may be put on a tape.
// UserError where they do not fit each other, DeviceError as a launch.
void softmax(const AnyBuffer &x, const AnyBuffer &y, SourceLocation where = std::source_location::current());

// The launch with arguments (x, y) for that many rows and columns, as is best on that device.
PlannedLaunch softmax_launch(ScalarType type, std::int64_t rows, std::int64_t columns, const PlanDevice &device,
                             SourceLocation where = std::source_location::current());

// x_gradient = y (y_gradient - the row's sum of y y_gradient), which it overwrites: the gradient of x for that of y,
// without powers being computed again. All three are like y.
void softmax_adjoint(const AnyBuffer &y, const AnyBuffer &y_gradient, const AnyBuffer &x_gradient,
                     SourceLocation where = std::source_location::current());
PlannedLaunch softmax_adjoint_launch(ScalarType type, std::int64_t rows, std::int64_t columns, const PlanDevice &device,
                                     SourceLocation where = std::source_location::current());

}  // namespace samite::ops
