// y = x / sqrt(the mean of the squares of x + epsilon) * weight, for each row of a matrix.
//
//   ops::rms_norm(x, weight, y);
//   ops::rms_norm(x, y);          // without the weight
//
// (Zhang, Sennrich, Root Mean Square Layer Normalization, 2019.) Sums are in float, for double in double.
#pragma once

#include "samite/ops/plan_device.h"
#include "samite/ops/planned_launch.h"
#include "samite/runtime/any_buffer.h"

#include <optional>

namespace samite::ops {

struct RmsNormOptions {
  double epsilon = 1e-6;
  std::optional<Stream> stream = {};  // default: the standard stream of the arrays' device
  bool add_gradients = false;         // rms_norm_adjoint adds to the gradient of x, too, as tapes do
};

// x and y (rows x columns) of half, bfloat16, float or double. The weight has one number for each column, of float, or
// of double if x is: its gradient is a sum over all rows. All on one device; y may be x. On a tape the adjoint is
// rms_norm_adjoint, or a derived one if x and y share memory. UserError if their shapes or types do not match,
// DeviceError as for a launch.
void rms_norm(const AnyBuffer &x, const AnyBuffer &weight, const AnyBuffer &y, const RmsNormOptions &options = {},
              SourceLocation where = std::source_location::current());
void rms_norm(const AnyBuffer &x, const AnyBuffer &y, const RmsNormOptions &options = {},
              SourceLocation where = std::source_location::current());

// The launch with arguments (x, weight, y, epsilon), or (x, y, epsilon), for that many rows and columns, planned for
// that device; epsilon has the weight's type.
PlannedLaunch rms_norm_launch(ScalarType type, bool weighted, std::int64_t rows, std::int64_t columns,
                              const PlanDevice &device, SourceLocation where = std::source_location::current());

// The gradients of x and the weight for that of y. It adds to that of the weight, and overwrites that of x unless the
// options say otherwise.
void rms_norm_adjoint(const AnyBuffer &x, const AnyBuffer &weight, const AnyBuffer &y_gradient,
                      const AnyBuffer &x_gradient, const AnyBuffer &weight_gradient, const RmsNormOptions &options = {},
                      SourceLocation where = std::source_location::current());
void rms_norm_adjoint(const AnyBuffer &x, const AnyBuffer &y_gradient, const AnyBuffer &x_gradient,
                      const RmsNormOptions &options = {}, SourceLocation where = std::source_location::current());
// The launch with arguments (x, weight, y_gradient, x_gradient, weight_gradient, epsilon), or (x, y_gradient,
// x_gradient, epsilon).
PlannedLaunch rms_norm_adjoint_launch(ScalarType type, bool weighted, std::int64_t rows, std::int64_t columns,
                                      const PlanDevice &device, bool add_gradients = false,
                                      SourceLocation where = std::source_location::current());

}  // namespace samite::ops
