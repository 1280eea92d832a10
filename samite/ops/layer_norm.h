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

#include <optional>

namespace samite::ops {

struct LayerNormOptions {
  double epsilon = 1e-5;
  std::optional<Stream> stream = {};  // default: the standard stream of the arrays' device
  bool add_gradients = false;         // layer_norm_adjoint adds to the gradient of x, too, as tapes do
};

// x and y (rows x columns) of half, bfloat16, float or double. The weight and the bias have one number for each column,
// of float, or of double if x is: their gradients are sums over all rows. All on one device. On a tape the adjoint is
// layer_norm_adjoint, or a derived one if x and y share memory. UserError if their shapes do not match, DeviceError as
// for a launch.
void layer_norm(const AnyBuffer &x, const AnyBuffer &weight, const AnyBuffer &bias, const AnyBuffer &y,
                const LayerNormOptions &options = {}, SourceLocation where = std::source_location::current());
void layer_norm(const AnyBuffer &x, const AnyBuffer &y, const LayerNormOptions &options = {},
                SourceLocation where = std::source_location::current());

// The launch with arguments (x, weight, bias, y, epsilon), or (x, y, epsilon), for that many rows and columns, planned
// for that device; epsilon has the weight's type.
PlannedLaunch layer_norm_launch(ScalarType type, bool weighted, std::int64_t rows, std::int64_t columns,
                                const PlanDevice &device, SourceLocation where = std::source_location::current());

// The gradients of x, the weight and the bias for that of y. It adds to those of the weight and the bias, and
// overwrites that of x unless the options say otherwise.
void layer_norm_adjoint(const AnyBuffer &x, const AnyBuffer &weight, const AnyBuffer &y_gradient,
                        const AnyBuffer &x_gradient, const AnyBuffer &weight_gradient, const AnyBuffer &bias_gradient,
                        const LayerNormOptions &options = {}, SourceLocation where = std::source_location::current());
// Without a weight and a bias.
void layer_norm_adjoint(const AnyBuffer &x, const AnyBuffer &y_gradient, const AnyBuffer &x_gradient,
                        const LayerNormOptions &options = {}, SourceLocation where = std::source_location::current());
// The launch with arguments (x, weight, y_gradient, x_gradient, weight_gradient, bias_gradient, epsilon).
PlannedLaunch layer_norm_adjoint_launch(ScalarType type, std::int64_t rows, std::int64_t columns,
                                        const PlanDevice &device, bool add_gradients = false,
                                        SourceLocation where = std::source_location::current());
// The launch with arguments (x, y_gradient, x_gradient, epsilon).
PlannedLaunch plain_layer_norm_adjoint_launch(ScalarType type, std::int64_t rows, std::int64_t columns,
                                              const PlanDevice &device, bool add_gradients = false,
                                              SourceLocation where = std::source_location::current());

}  // namespace samite::ops
