// Convolution of images in one, two or three dimensions, and its gradients, as implicit products: a block loads, for
// one place of the kernel after another, the window of x that its results read, and multiplies it by the weights of
// that place. No array of unfolded windows is made.
//
//   ops::convolution(x, weights, y, {.stride = {2, 2}, .padding = {1, 1}, .bias = bias});
//
// x is (batches, height, width, channels) and y (batches, height of y, width of y, outputs); permute() turns arrays
// with the channels before the height into it. Weights are (outputs, height of the kernel, width of the kernel,
// channels of a group): output o of group g reads channels g * (channels of a group) and on.
//
// In three dimensions the planes of an image lie one after another: x is (batches * depth, height, width, channels), y
// likewise, and the weights are (outputs, depth * height of the kernel, width, channels of a group), with
// `depth` and `kernel_depth` in the options.
#pragma once

#include "samite/ops/plan_device.h"
#include "samite/ops/planned_launch.h"
#include "samite/runtime/any_buffer.h"

#include <array>
#include <optional>

namespace samite::ops {

// Numbers for the height, the width and the depth.
using SpatialNumbers = std::array<std::int64_t, 3>;

struct ConvolutionOptions {
  SpatialNumbers stride = {1, 1, 1};
  SpatialNumbers padding = {0, 0, 0};  // rows of zeros before and behind
  SpatialNumbers dilation = {1, 1, 1};
  std::int64_t groups = 1;            // divides the channels and the outputs
  std::int64_t depth = 1;             // of an image of x
  std::int64_t kernel_depth = 1;      // of the weights
  AnyBuffer bias = {};                // a number for each output, of y's type
  std::optional<Stream> stream = {};  // default: the standard stream of the arrays' device
  bool add_gradients = false;  // convolution_adjoint adds to the gradients, as tapes do, instead of overwriting them
};

// The extent of y along a dimension of x; not positive if the kernel does not fit.
constexpr std::int64_t convolved_extent(std::int64_t extent, std::int64_t kernel, std::int64_t stride = 1,
                                        std::int64_t padding = 0, std::int64_t dilation = 1) {
  const std::int64_t room = extent + 2 * padding - dilation * (kernel - 1) - 1;
  return room < 0 ? 0 : room / stride + 1;
}

// Arrays of half, bfloat16, float or double, all of one type, which may be views with any strides. Sums are in float,
// for double in double. On a tape the adjoint is convolution_adjoint, unless arrays share memory or one is a broadcast;
// it computes only the gradients that are tracked. UserError if shapes or types do not match, DeviceError as for a
// launch.
void convolution(const AnyBuffer &x, const AnyBuffer &weights, const AnyBuffer &y,
                 const ConvolutionOptions &options = {}, SourceLocation where = std::source_location::current());

// Gradients that are empty buffers are not computed.
struct ConvolutionGradients {
  AnyBuffer x = {}, weights = {}, bias = {};
};
// Overwrites the gradients for that of y, or adds to them (add_gradients). The order of every sum is fixed.
void convolution_adjoint(const AnyBuffer &x, const AnyBuffer &weights, const AnyBuffer &y_gradient,
                         const ConvolutionGradients &gradients, const ConvolutionOptions &options = {},
                         SourceLocation where = std::source_location::current());

// Extents by height, width and depth.
struct ConvolutionShape {
  std::int64_t batches = 1, groups = 1, channels = 1, outputs = 1;  // the last two of a group
  SpatialNumbers x = {1, 1, 1}, kernel = {1, 1, 1}, y = {1, 1, 1};
  SpatialNumbers stride = {1, 1, 1}, dilation = {1, 1, 1};
};
// The launches planned for that device. After the arrays come the int32 `places`: the padding of height, width and
// depth, the depth of x and of y, and that of the kernel.
//
//   forward          (x, weights, y, places…), or with a bias (x, weights, bias, y, places…)
//   of_x             (y_gradient, weights, x_gradient, places…)
//   weight_parts     (x, y_gradient, parts, places…), which overwrites parts, of the weights' extents except
//                    that the first is part_count times as large
//   of_weights       (parts, weights_gradient), after it
//   bias_parts       (y_gradient, parts), parts of (part_count, outputs of all groups); without `places`
//   of_bias          (parts, bias_gradient), after it
//
// The parts are of float, or of double if x is.
struct ConvolutionLaunches {
  PlannedLaunch forward, of_x, weight_parts, of_weights, bias_parts, of_bias;
  std::int64_t part_count = 1;
};
ConvolutionLaunches convolution_launches(ScalarType type, const ConvolutionShape &shape, bool with_bias,
                                         bool add_gradients, const PlanDevice &device,
                                         SourceLocation where = std::source_location::current());

}  // namespace samite::ops
