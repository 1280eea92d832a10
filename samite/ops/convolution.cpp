#include "samite/ops/convolution.h"

#include "samite/base/error.h"
#include "samite/ops/convolution_kernels.h"
#include "samite/ops/gradients.h"
#include "samite/ops/kernels.h"
#include "samite/ops/matmul_plan.h"
#include "samite/ops/operand_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <tuple>
#include <vector>

namespace samite::ops {
namespace {

using detail::ConvolutionKernels;
using detail::ConvolutionPlan;

// The kernels of one type that have been used so far. No two blocks write one element, and no block reads an array that
// it writes, except to add to gradients.
template <Scalar T>
struct Made {
  using Of = ConvolutionKernels<T>;
  detail::Kernels<ConvolutionPlan, typename Of::Forward> forward{Of::forward};
  detail::Kernels<ConvolutionPlan, typename Of::WithBias> with_bias{Of::with_bias};
  detail::Kernels<ConvolutionPlan, typename Of::OfX> of_x{Of::of_x};
  detail::Kernels<ConvolutionPlan, typename Of::WeightParts> weight_parts{Of::weight_parts};
  detail::Kernels<ConvolutionPlan, typename Of::OfWeights> of_weights{Of::of_weights};
  detail::Kernels<ConvolutionPlan, typename Of::BiasParts> bias_parts{Of::bias_parts};
  detail::Kernels<ConvolutionPlan, typename Of::OfBias> of_bias{Of::of_bias};

  static Made &all() {
    static Made all;
    return all;
  }
};

// A tile of at most this many of a group's channels or outputs. With several groups it divides them, so that no tile
// reaches into the next group.
int tile_of_group(std::int64_t count, std::int64_t most, std::int64_t groups, std::int64_t step) {
  if (groups == 1) {
    const std::int64_t tiles = detail::ceil_div(std::max<std::int64_t>(count, 1), most);
    return static_cast<int>(
        std::min(most, detail::round_up(detail::ceil_div(std::max<std::int64_t>(count, 1), tiles), step)));
  }
  std::int64_t tile = std::min(count, most);
  while (count % tile != 0) --tile;
  return static_cast<int>(tile);
}

// Boxes as wide as a row, up to `most` places.
std::pair<int, int> box_of(std::int64_t height, std::int64_t width, std::int64_t most) {
  const auto power = [](std::int64_t extent) {
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 1))));
  };
  const std::int64_t across = std::min(power(width), most / 2), down = std::min(power(height), most / across);
  return {static_cast<int>(down), static_cast<int>(down == 1 ? std::min(power(width), most) : across)};
}

enum class Part : std::uint8_t { forward, of_x, of_weights };

ConvolutionPlan plan_of(ScalarType type, const ConvolutionShape &shape, Part part, const PlanDevice &device) {
  ConvolutionPlan plan;
  const auto number = [](std::int64_t value) { return static_cast<int>(value); };
  // Places of x at distances of the stride form a box.
  const std::int64_t height = part == Part::of_x ? detail::ceil_div(shape.x[0], shape.stride[0]) : shape.y[0],
                     width = part == Part::of_x ? detail::ceil_div(shape.x[1], shape.stride[1]) : shape.y[1];
  std::tie(plan.height, plan.width) = box_of(height, width, 64);
  const bool cpu = device.is_cpu();
  // Products on the CPU have columns of whole registers. They take any number of terms, but kernels with few different
  // ones share their products. Tensor cores take 16 of each.
  const std::int64_t results = 16, terms = cpu ? 4 : 16, most = cpu || size_of(type) == 2 ? 64 : 32;
  plan.outputs = tile_of_group(shape.outputs, most, shape.groups, part == Part::of_x ? terms : results);
  plan.channels = tile_of_group(shape.channels, most, shape.groups, part == Part::forward ? terms : results);
  plan.groups = number(shape.groups);
  plan.outputs_of_group = number(shape.outputs);
  plan.channels_of_group = number(shape.channels);
  for (std::size_t d = 0; d < 3; ++d)
    plan.stride[d] = number(shape.stride[d]), plan.dilation[d] = number(shape.dilation[d]);
  plan.threads = cpu ? 32 : 128;
  plan.stages = size_of(type) == 2 ? 3 : 2;
  return plan;
}

// Enough blocks for the device, if each sums over several boxes.
int part_count(const ConvolutionShape &shape, const ConvolutionPlan &plan, const PlanDevice &device) {
  constexpr std::int64_t fewest_boxes = 8;
  if (device.is_cpu()) return 1;
  const std::int64_t blocks =
      shape.groups * plan.output_tiles() * plan.channel_tiles() * shape.kernel[0] * shape.kernel[1] * shape.kernel[2];
  const std::int64_t boxes =
      shape.batches * shape.y[2] * detail::ceil_div(shape.y[0], plan.height) * detail::ceil_div(shape.y[1], plan.width);
  return static_cast<int>(
      std::clamp<std::int64_t>(std::int64_t{2} * device.multiprocessors / std::max<std::int64_t>(blocks, 1), 1,
                               std::max<std::int64_t>(boxes / fewest_boxes, 1)));
}

// Checks the arrays' shapes and types.
class Check : public detail::OperandCheck {
 public:
  Check(const AnyBuffer &x, const AnyBuffer &weights, const AnyBuffer &y, const ConvolutionOptions &options,
        SourceLocation where)
      : OperandCheck("convolution", x, "x", where), x_(x) {
    for (const auto &[buffer, what] : {std::pair{&x, "x of (batches, height, width, channels)"},
                                       {&weights, "weights of (outputs, height, width, channels of a group)"}})
      if (!buffer->valid() || buffer->rank() != 4)
        fail(fmt::format("expected {}; {} given", what, detail::text_of(*buffer)));
    expect_numbers(options);
    const Extents &e = x.extents(), &w = weights.extents();
    if (options.groups < 1 || e[3] % options.groups != 0 || w[0] % options.groups != 0)
      fail(
          fmt::format("expected a number of groups that divides the {} channels of x and the {} outputs of the "
                      "weights; {} given",
                      e[3], w[0], options.groups));
    if (e[0] % options.depth != 0)
      fail(fmt::format("expected x of images of {} planes each; {} planes given", options.depth, e[0]));
    if (w[1] % options.kernel_depth != 0)
      fail(fmt::format("expected weights of {} planes; {} rows given", options.kernel_depth, w[1]));
    shape_ = {e[0] / options.depth,
              options.groups,
              e[3] / options.groups,
              w[0] / options.groups,
              {e[1], e[2], options.depth},
              {w[1] / options.kernel_depth, w[2], options.kernel_depth},
              {},
              options.stride,
              options.dilation};
    for (std::size_t d = 0; d < 3; ++d)
      shape_.y[d] =
          convolved_extent(shape_.x[d], shape_.kernel[d], options.stride[d], options.padding[d], options.dilation[d]);
    expect(weights, "weights", {w[0], w[1], w[2], shape_.channels});
    expect(y, "y", y_extents());
    if (options.bias.valid()) expect(options.bias, "a bias", {w[0]});
    if (shape_.kernel[0] * shape_.kernel[1] * shape_.channels == 0)
      fail(fmt::format("expected weights with elements; {} given", detail::text_of(weights)));
  }

  const ConvolutionShape &shape() const { return shape_; }
  Extents y_extents() const {
    return {shape_.batches * shape_.y[2], shape_.y[0], shape_.y[1], shape_.groups * shape_.outputs};
  }
  void expect(const AnyBuffer &buffer, const char *what, const Extents &extents) const {
    OperandCheck::expect(buffer, what, extents, x_.type());
  }

 private:
  void expect_numbers(const ConvolutionOptions &options) const {
    constexpr std::int64_t most = 1 << 15;
    const auto expect_each = [&](const SpatialNumbers &numbers, std::int64_t least, const char *what) {
      for (const std::int64_t number : numbers)
        if (number < least || number > most)
          fail(fmt::format("expected a {} from {} to {} for height, width and depth; {} given", what, least, most,
                           number));
    };
    expect_each(options.stride, 1, "stride");
    expect_each(options.dilation, 1, "dilation");
    expect_each(options.padding, 0, "padding");
    if (options.depth < 1 || options.kernel_depth < 1)
      fail(fmt::format("expected depths of at least 1; depth {} and kernel_depth {} given", options.depth,
                       options.kernel_depth));
  }

  const AnyBuffer &x_;
  ConvolutionShape shape_{};
};

std::vector<jit::Argument> places_of(const ConvolutionShape &shape, const ConvolutionOptions &options) {
  std::vector<jit::Argument> places;
  for (const std::int64_t number :
       {options.padding[0], options.padding[1], options.padding[2], shape.x[2], shape.y[2], shape.kernel[2]})
    places.push_back({nullptr, static_cast<std::uint32_t>(number)});
  return places;
}

jit::AdjointLaunch launch_of(const PlannedLaunch &planned, std::initializer_list<const AnyBuffer *> arrays,
                             const std::vector<jit::Argument> &numbers = {}) {
  jit::AdjointLaunch launch{planned.kernel, planned.blocks, {}};
  for (const AnyBuffer *array : arrays) launch.arguments.push_back({*array, 0});
  for (const jit::Argument &number : numbers) launch.arguments.push_back({{}, number.scalar});
  return launch;
}

// Only the parts are new.
std::vector<jit::AdjointLaunch> launches_of_adjoint(const AnyBuffer &x, const AnyBuffer &weights,
                                                    const AnyBuffer &y_gradient, const ConvolutionGradients &to,
                                                    const ConvolutionShape &shape, const ConvolutionOptions &options,
                                                    bool add, SourceLocation where) {
  const ConvolutionLaunches planned =
      convolution_launches(x.type(), shape, options.bias.valid(), add, plan_device(x.device()), where);
  const std::vector<jit::Argument> places = places_of(shape, options);
  const ScalarType sums = detail::row_number_type(x.type());
  std::vector<jit::AdjointLaunch> launches;
  if (to.x.valid()) launches.push_back(launch_of(planned.of_x, {&y_gradient, &weights, &to.x}, places));
  if (to.weights.valid()) {
    const Extents &e = weights.extents();
    const AnyBuffer parts(x.device(), sums, {planned.part_count * e[0], e[1], e[2], e[3]}, Gradient::tracked);
    launches.push_back(launch_of(planned.weight_parts, {&x, &y_gradient, &parts}, places));
    launches.push_back(launch_of(planned.of_weights, {&parts, &to.weights}));
  }
  if (to.bias.valid()) {
    const AnyBuffer parts(x.device(), sums, {planned.part_count, weights.extents()[0]}, Gradient::tracked);
    launches.push_back(launch_of(planned.bias_parts, {&y_gradient, &parts}));
    launches.push_back(launch_of(planned.of_bias, {&parts, &to.bias}));
  }
  return launches;
}

template <Scalar T>
ConvolutionLaunches launches(const ConvolutionShape &shape, bool with_bias, bool add_gradients,
                             const PlanDevice &device) {
  auto &made = Made<T>::all();
  const auto boxes = [&](const ConvolutionPlan &plan, std::int64_t planes, std::int64_t height, std::int64_t width) {
    return planes * detail::ceil_div(height, plan.height) * detail::ceil_div(width, plan.width);
  };
  const ConvolutionPlan forward = plan_of(scalar_type_of<T>, shape, Part::forward, device);
  ConvolutionPlan of_x = plan_of(scalar_type_of<T>, shape, Part::of_x, device),
                  of_weights = plan_of(scalar_type_of<T>, shape, Part::of_weights, device);
  of_x.add_gradients = add_gradients;
  of_weights.parts = part_count(shape, of_weights, device);
  ConvolutionPlan added = of_weights;
  added.add_gradients = add_gradients;
  const auto &[rows, columns, planes] = shape.stride;
  const std::int64_t places = shape.kernel[0] * shape.kernel[1] * shape.kernel[2],
                     outputs = shape.groups * shape.outputs, y_planes = shape.batches * shape.y[2];
  const Extents of_forward{boxes(forward, y_planes, shape.y[0], shape.y[1]), shape.groups * forward.output_tiles()};
  const std::int64_t x_boxes = boxes(of_x, shape.batches * shape.x[2], detail::ceil_div(shape.x[0], rows),
                                     detail::ceil_div(shape.x[1], columns));
  const std::int64_t output_tiles = detail::ceil_div(outputs, of_weights.outputs);
  return {.forward = {with_bias ? made.with_bias.at(forward).definition() : made.forward.at(forward).definition(),
                      of_forward},
          .of_x = {made.of_x.at(of_x).definition(), {x_boxes * rows * columns, shape.groups * of_x.channel_tiles()}},
          .weight_parts = {made.weight_parts.at(of_weights).definition(),
                           {shape.groups * of_weights.output_tiles() * of_weights.channel_tiles(), places,
                            of_weights.parts}},
          .of_weights = {made.of_weights.at(added).definition(), {outputs, places, of_weights.channel_tiles()}},
          .bias_parts = {made.bias_parts.at(of_weights).definition(), {output_tiles, of_weights.parts}},
          .of_bias = {made.of_bias.at(added).definition(), {output_tiles}},
          .part_count = of_weights.parts};
}

}  // namespace

ConvolutionLaunches convolution_launches(ScalarType type, const ConvolutionShape &shape, bool with_bias,
                                         bool add_gradients, const PlanDevice &device, SourceLocation where) {
  switch (type) {
#define SAMITE_CASE(T) \
  case scalar_type_of<T>: return launches<T>(shape, with_bias, add_gradients, device);
    SAMITE_ROW_TYPES(SAMITE_CASE)
#undef SAMITE_CASE
    default: detail::refuse_row_type("convolution", type, where);
  }
}

void convolution(const AnyBuffer &x, const AnyBuffer &weights, const AnyBuffer &y, const ConvolutionOptions &options,
                 SourceLocation where) {
  const Check check(x, weights, y, options, where);
  const ConvolutionShape shape = check.shape();
  const bool biased = options.bias.valid();
  // Shared, since GCC 12 believes that a captured copy's stream may not be set.
  const auto adjoint = [=,
                        kept = std::make_shared<const ConvolutionOptions>(options)](std::span<const AnyBuffer> values) {
    const auto gradient = [](const AnyBuffer &array) {
      return array.valid() && array.tracks_gradient() ? array.gradient() : AnyBuffer();
    };
    return launches_of_adjoint(values[0], values[1], y.gradient(),
                               {gradient(x), gradient(weights), gradient(kept->bias)}, shape, *kept, /*add=*/true,
                               where);
  };
  std::vector<jit::Operation::Array> arrays{{.buffer = x, .name = "x", .needed = weights.tracks_gradient()},
                                            {.buffer = weights, .name = "weights", .needed = x.tracks_gradient()}};
  if (biased) arrays.push_back({options.bias, "bias"});
  arrays.push_back({.buffer = y, .name = "y", .written = true});
  jit::perform(
      {.name = "convolution", .arrays = arrays, .stream = options.stream, .adjoint = adjoint},
      [&](bool) {
        const PlannedLaunch planned =
            convolution_launches(x.type(), shape, biased, false, plan_device(x.device()), where).forward;
        std::vector<jit::Argument> arguments{{&x}, {&weights}};
        if (biased) arguments.push_back({&options.bias});
        arguments.push_back({&y});
        for (const jit::Argument &place : places_of(shape, options)) arguments.push_back(place);
        jit::launch_once(planned.kernel, LaunchExtents(planned.blocks, where), {.stream = options.stream}, arguments);
      },
      where);
}

void convolution_adjoint(const AnyBuffer &x, const AnyBuffer &weights, const AnyBuffer &y_gradient,
                         const ConvolutionGradients &gradients, const ConvolutionOptions &options,
                         SourceLocation where) {
  const Check check(x, weights, y_gradient, options, where);
  if (gradients.x.valid()) check.expect(gradients.x, "the gradient of x", x.extents());
  if (gradients.weights.valid()) check.expect(gradients.weights, "the gradient of the weights", weights.extents());
  if (gradients.bias.valid()) check.expect(gradients.bias, "the gradient of the bias", {weights.extents()[0]});
  for (const jit::AdjointLaunch &launch :
       launches_of_adjoint(x, weights, y_gradient, gradients, check.shape(), options, options.add_gradients, where))
    jit::launch_once(launch.kernel, LaunchExtents(launch.extents, where), {.stream = options.stream},
                     jit::views(launch.arguments));
}

}  // namespace samite::ops
