// y = (x - mean) / sqrt(variance + epsilon) * weight + bias, for each row of a matrix, with its mean and variance.
//
//   ops::layer_norm(x, weight, bias, y);
//   ops::layer_norm(x, y);                 // without the last two
//
// (Ba, Kiros, Hinton, Layer Normalization, 2016.) The variance is the mean of the squares of x - mean. Sums are in
// float, for double in double.
#pragma once

#include "samite/ops/plan_device.h"
#include "samite/ops/planned_launch.h"
#include "samite/runtime/any_buffer.h"

namespace samite::ops {

// x and y (rows x columns) of half, bfloat16, float or double. The weight and the bias have one number for each column,
// of float, or of double if x is: their gradients are sums over all rows. All on one device. Tapes can record the
// launch. UserError if their shapes do not match, DeviceError as for a launch.
void layer_norm(const AnyBuffer &x, const AnyBuffer &weight, const AnyBuffer &bias, const AnyBuffer &y,
                double epsilon = 1e-5, SourceLocation where = std::source_location::current());
void layer_norm(const AnyBuffer &x, const AnyBuffer &y, double epsilon = 1e-5,
                SourceLocation where = std::source_location::current());

// The launch with arguments (x, weight, bias, y, epsilon), or (x, y, epsilon), for that many rows and columns, planned
// for that device; epsilon has the weight's type.
PlannedLaunch layer_norm_launch(ScalarType type, bool weighted, std::int64_t rows, std::int64_t columns,
                                const PlanDevice &device, SourceLocation where = std::source_location::current());

// The launch with arguments (x, weight, y_gradient, x_gradient, weight_gradient, bias_gradient, epsilon), which
// overwrites the gradient of x, and adds to those of the weight and the bias. Tapes do not use it: the derived adjoint
// of layer_norm_launch adds to all three.
PlannedLaunch layer_norm_adjoint_launch(ScalarType type, std::int64_t rows, std::int64_t columns,
                                        const PlanDevice &device,
                                        SourceLocation where = std::source_location::current());

}  // namespace samite::ops
