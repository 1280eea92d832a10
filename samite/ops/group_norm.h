// Group norm: y = (x - mean) / sqrt(variance + epsilon) * weight + bias, with the mean and the variance of each group
// of channels of each batch element, and a weight and a bias for each channel.
//
//   ops::group_norm(x, weight, bias, y, {.groups = 32});
//
// (Wu, He, Group Normalization, 2018.) One group normalises all channels together; one group per channel normalises
// each channel on its own (instance norm). The variance is the mean of the squares of x - mean. Sums are in float, for
// double in double.
#pragma once

#include "samite/ops/plan_device.h"
#include "samite/ops/planned_launch.h"
#include "samite/runtime/any_buffer.h"

#include <optional>

namespace samite::ops {

struct GroupNormOptions {
  std::int64_t groups = 1;  // of consecutive channels, equally many in each
  double epsilon = 1e-5;
  std::optional<Stream> stream = {};  // default: the standard stream of the arrays' device
  bool add_gradients = false;         // group_norm_adjoint adds to the gradient of x, too, as tapes do
};

// x and y (batches, channels, places) of half, bfloat16, float or double, and may be views with any strides: permute()
// turns (batches, places, channels) into it, reshape() a contiguous image. The weight and the bias have one number for
// each channel, of float, or of double if x is: their gradients are sums over all places. All on one device; y may be
// x. On a tape the adjoint is group_norm_adjoint, or a derived one if x and y share memory. UserError if their shapes
// or types do not match, or the channels are no multiple of the groups; DeviceError as for a launch.
void group_norm(const AnyBuffer &x, const AnyBuffer &weight, const AnyBuffer &bias, const AnyBuffer &y,
                const GroupNormOptions &options = {}, SourceLocation where = std::source_location::current());

// The gradients of x, the weight and the bias for that of y. It adds to those of the weight and the bias, and
// overwrites that of x unless the options say otherwise.
void group_norm_adjoint(const AnyBuffer &x, const AnyBuffer &weight, const AnyBuffer &y_gradient,
                        const AnyBuffer &x_gradient, const AnyBuffer &weight_gradient, const AnyBuffer &bias_gradient,
                        const GroupNormOptions &options = {}, SourceLocation where = std::source_location::current());

struct GroupNormShape {
  std::int64_t batches, groups, channels, places;  // channels of each group
};
// The launches planned for that device: with arguments (x, weight, bias, y, epsilon) and (x, weight, y_gradient,
// x_gradient, weight_gradient, bias_gradient, epsilon); epsilon has the weight's type.
PlannedLaunch group_norm_launch(ScalarType type, const GroupNormShape &shape, const PlanDevice &device,
                                SourceLocation where = std::source_location::current());
PlannedLaunch group_norm_adjoint_launch(ScalarType type, const GroupNormShape &shape, const PlanDevice &device,
                                        bool add_gradients = false,
                                        SourceLocation where = std::source_location::current());

}  // namespace samite::ops
