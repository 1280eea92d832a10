// The kernels of convolution (ops/convolution.h), for one type and one tiling. A block's results are a box of rows and
// columns of one plane, times some outputs or channels; a tile of them has a row for each place of the box.
#pragma once

#include "samite/jit/tile_kernel.h"
#include "samite/lang/tile_memory.h"
#include "samite/lang/tile_shape.h"
#include "samite/lang/traced_once.h"
#include "samite/ops/as_type.h"
#include "samite/ops/rows.h"

#include <array>

namespace samite::ops::detail {

struct ConvolutionPlan {
  int height = 1, width = 1;      // of the box of places
  int outputs = 1, channels = 1;  // of a tile; divisors of a group's numbers if there are several groups
  int groups = 1;                 // each has this many channels and outputs
  int outputs_of_group = 1, channels_of_group = 1;
  std::array<int, 3> stride = {1, 1, 1}, dilation = {1, 1, 1};
  int threads = 0, stages = 1, parts = 1;
  bool add_gradients = false;

  friend auto operator<=>(const ConvolutionPlan &, const ConvolutionPlan &) = default;

  int box() const { return height * width; }
  int output_tiles() const { return (outputs_of_group + outputs - 1) / outputs; }
  int channel_tiles() const { return (channels_of_group + channels - 1) / channels; }
};

SAMITE_TRACED_ONCE_BEGIN

template <Scalar T>
struct ConvolutionKernels {
  using S = RowNumber<T>;
  using In = Array<const T, 4>;
  using Out = Array<T, 4>;
  using Bias = Array<const T, 1>;
  using Plan = ConvolutionPlan;
  using Forward = TileKernel<void(In, In, Out, Int, Int, Int, Int, Int, Int)>;
  using WithBias = TileKernel<void(In, In, Bias, Out, Int, Int, Int, Int, Int, Int)>;
  using OfX = TileKernel<void(In, In, Out, Int, Int, Int, Int, Int, Int)>;
  using WeightParts = TileKernel<void(In, In, Array<S, 4>, Int, Int, Int, Int, Int, Int)>;
  using OfWeights = TileKernel<void(Array<const S, 4>, Out)>;
  using BiasParts = TileKernel<void(In, Array<S, 2>)>;
  using OfBias = TileKernel<void(Array<const S, 2>, Array<T, 1>)>;

  // The padding, the depths of x and y, and that of the kernel.
  struct Places {
    Int height, width, depth, of_x, of_y, of_kernel;
  };
  // Box number `number` of the planes of an array: it begins at place (row, column) of a plane.
  struct Box {
    Int plane, row, column;

    Box(const Int &number, const Int &rows, const Int &columns, const Plan &plan) {
      const Int across = tile::ceil_div(columns, plan.width), down = tile::ceil_div(rows, plan.height);
      column = number % across * plan.width;
      row = number / across % down * plan.height;
      plane = number / (across * down);
    }
  };
  // A place of the kernel, and a tile of channels or outputs, for step n of a loop over both.
  struct Tap {
    Int row, column, depth, part;
    Int in_rows;  // in the weights' second dimension

    Tap(const Int &n, const Int &parts, const Int &width, const Int &height) {
      part = n % parts;
      const Int place = n / parts;
      column = place % width;
      row = place / width % height;
      depth = place / width / height;
      in_rows = depth * height + row;
    }
  };

  // The plane at `depth` of image `batch`, or one that does not exist, which reads zeros.
  static Int plane_of(const Int &batch, const Int &depth, const Int &depths) {
    return select(depth >= 0 && depth < depths, batch * depths + depth, -1);
  }
  // The window of x that the results of a box of y read for one place of the kernel, a row for each result.
  static Tile<T> window_of_x(const In &x, const Box &box, const Tap &tap, const Int &channel, const Places &places,
                             const Plan &plan) {
    const auto &[of_row, of_column, of_depth] = plan.stride;
    const Int depth = box.plane % places.of_y * of_depth - places.depth + tap.depth * plan.dilation[2];
    return tile::reshape(
        tile::load_view(x,
                        {plane_of(box.plane / places.of_y, depth, places.of_x),
                         box.row * of_row - places.height + tap.row * plan.dilation[0],
                         box.column * of_column - places.width + tap.column * plan.dilation[1], channel},
                        {plan.height, plan.width, plan.channels}, {.steps = {of_row, of_column, 1}}),
        {plan.box(), plan.channels});
  }
  static Tile<T> window_of_y(const In &y, const Int &plane, const Int &row, const Int &column, const Int &output,
                             const Plan &plan) {
    return tile::reshape(tile::load_at(y, {plane, row, column, output}, {plan.height, plan.width, plan.outputs}),
                         {plan.box(), plan.outputs});
  }
  static Tile<T> weights_at(const In &weights, const Tap &tap, const Int &output, const Int &channel,
                            const Plan &plan) {
    return tile::reshape(
        tile::load_at(weights, {output, tap.in_rows, tap.column, channel}, {plan.outputs, 1, 1, plan.channels}),
        {plan.outputs, plan.channels});
  }

  static void convolve(const In &x, const In &weights, const Bias *bias, const Out &y, const Places &places,
                       const Plan &plan) {
    auto [number, part] = block_index<2>();
    const Box box(number, y.extent(1), y.extent(2), plan);
    const Int group = part / plan.output_tiles();
    const Int output = group * plan.outputs_of_group + part % plan.output_tiles() * plan.outputs;
    const Int kernel_height = weights.extent(1) / places.of_kernel;
    Tile<S> sum = tile::zeros<S>({plan.box(), plan.outputs});
    if (bias)
      sum = tile::broadcast<S>(
          as_type<S>(tile::reshape(tile::load_at(*bias, {output}, {plan.outputs}), {1, plan.outputs})),
          {plan.box(), plan.outputs});
    for (Int n : range(weights.extent(1) * weights.extent(2) * plan.channel_tiles(), pipelined(plan.stages))) {
      const Tap tap(n, plan.channel_tiles(), weights.extent(2), kernel_height);
      const Int channel = tap.part * plan.channels;
      tile::matmul(window_of_x(x, box, tap, group * plan.channels_of_group + channel, places, plan),
                   weights_at(weights, tap, output, channel, plan), sum, {.b = true});
    }
    tile::store_at(y, {box.plane, box.row, box.column, output},
                   tile::reshape(as_type<T>(sum), {plan.height, plan.width, plan.outputs}));
  }

  static Forward forward(const Plan &plan) {
    return {"convolution",
            {"x", "weights", "y", "pad_height", "pad_width", "pad_depth", "x_depth", "y_depth", "kernel_depth"},
            [=](In x, In weights, Out y, const Int &pad_height, const Int &pad_width, const Int &pad_depth,
                const Int &x_depth, const Int &y_depth, const Int &kernel_depth) {
              convolve(x, weights, nullptr, y, {pad_height, pad_width, pad_depth, x_depth, y_depth, kernel_depth},
                       plan);
            },
            TileOptions{.threads = plan.threads}};
  }
  static WithBias with_bias(const Plan &plan) {
    return {"convolution_with_bias",
            {"x", "weights", "bias", "y", "pad_height", "pad_width", "pad_depth", "x_depth", "y_depth", "kernel_depth"},
            [=](In x, In weights, Bias bias, Out y, const Int &pad_height, const Int &pad_width, const Int &pad_depth,
                const Int &x_depth, const Int &y_depth, const Int &kernel_depth) {
              convolve(x, weights, &bias, y, {pad_height, pad_width, pad_depth, x_depth, y_depth, kernel_depth}, plan);
            },
            TileOptions{.threads = plan.threads}};
  }

  // The places k of the kernel, along a dimension, with which a place of x contributes to some place of y: those for
  // which place + padding - k * dilation is a multiple of the stride.
  struct Contributing {
    Int first, count;
    int step;

    // For a place of x of this remainder, with its padding, by the stride, and a kernel of this extent.
    Contributing(const Int &remainder, const Int &extent, int stride, int dilation) {
      step = 1;
      while (step * dilation % stride != 0) ++step;
      first = extent;
      for (int k = step - 1; k >= 0; --k) first = select(remainder == k * dilation % stride, Int(k), first);
      count = max((extent - first + (step - 1)) / step, 0);
    }
    Int place(const Int &n) const { return first + n * step; }
  };

  // A block has places of x at distances of the stride: all of them contribute through the same places of the kernel,
  // to adjacent places of y.
  static OfX of_x(const Plan &plan) {
    return {
        "convolution_of_x",
        {"y_gradient", "weights", "x_gradient", "pad_height", "pad_width", "pad_depth", "x_depth", "y_depth",
         "kernel_depth"},
        [=](In y_gradient, In weights, Out x_gradient, const Int &pad_height, const Int &pad_width,
            const Int &pad_depth, const Int &x_depth, const Int &y_depth, const Int &kernel_depth) {
          auto [number, part] = block_index<2>();
          const auto &[of_row, of_column, of_depth] = plan.stride;
          // The first place of each kind, and the box among those of its kind.
          const Int kinds = of_row * of_column;
          const Int first_row = number % kinds / of_column, first_column = number % of_column;
          const Box box(number / kinds, tile::ceil_div(x_gradient.extent(1), of_row),
                        tile::ceil_div(x_gradient.extent(2), of_column), plan);
          const Int group = part / plan.channel_tiles(), channel = part % plan.channel_tiles() * plan.channels;
          const Int row = first_row + pad_height, column = first_column + pad_width,
                    depth = box.plane % x_depth + pad_depth;
          const Contributing rows(row % of_row, weights.extent(1) / kernel_depth, of_row, plan.dilation[0]),
              columns(column % of_column, weights.extent(2), of_column, plan.dilation[1]),
              depths(depth % of_depth, kernel_depth, of_depth, plan.dilation[2]);
          Tile<S> sum = tile::zeros<S>({plan.box(), plan.channels});
          const Int steps = rows.count * columns.count * depths.count * plan.output_tiles();
          const Int height = max(rows.count, 1), width = max(columns.count, 1);
          for (Int n : range(steps, pipelined(plan.stages))) {
            Tap tap(n, plan.output_tiles(), width, height);
            tap.row = rows.place(tap.row), tap.column = columns.place(tap.column);
            tap.depth = depths.place(tap.depth);
            tap.in_rows = tap.depth * (weights.extent(1) / kernel_depth) + tap.row;
            const Int output = group * plan.outputs_of_group + tap.part * plan.outputs;
            tile::matmul(
                window_of_y(y_gradient,
                            plane_of(box.plane / x_depth, (depth - tap.depth * plan.dilation[2]) / of_depth, y_depth),
                            (row - tap.row * plan.dilation[0]) / of_row + box.row,
                            (column - tap.column * plan.dilation[1]) / of_column + box.column, output, plan),
                weights_at(weights, tap, output, channel, plan), sum);
          }
          const std::array<Int, 4> place{box.plane, first_row + box.row * of_row, first_column + box.column * of_column,
                                         group * plan.channels_of_group + channel};
          const tile::View view{.steps = {of_row, of_column, 1}};
          Tile<S> values = tile::reshape(sum, {plan.height, plan.width, plan.channels});
          if (plan.add_gradients)
            values = values + as_type<S>(tile::load_view(x_gradient, {place[0], place[1], place[2], place[3]},
                                                         {plan.height, plan.width, plan.channels}, view));
          tile::store_view(x_gradient, {place[0], place[1], place[2], place[3]}, as_type<T>(values), view);
        },
        TileOptions{.threads = plan.threads}};
  }

  // The boxes of y that part number `part` sums over.
  static std::pair<Int, Int> boxes_of_part(const In &y, const Int &part, const Plan &plan) {
    const Int boxes = y.extent(0) * tile::ceil_div(y.extent(1), plan.height) * tile::ceil_div(y.extent(2), plan.width);
    const Int each = tile::ceil_div(boxes, plan.parts);
    return {each * part, min(boxes, each * (part + 1))};
  }

  static WeightParts weight_parts(const Plan &plan) {
    return {"convolution_weight_parts",
            {"x", "y_gradient", "parts", "pad_height", "pad_width", "pad_depth", "x_depth", "y_depth", "kernel_depth"},
            [=](In x, In y_gradient, Array<S, 4> parts, const Int &pad_height, const Int &pad_width,
                const Int &pad_depth, const Int &x_depth, const Int &y_depth, const Int &kernel_depth) {
              auto [number, place, part] = block_index<3>();
              const Places places{pad_height, pad_width, pad_depth, x_depth, y_depth, kernel_depth};
              const Tap tap(place, 1, parts.extent(2), parts.extent(1) / kernel_depth);
              const Int group = number / (plan.output_tiles() * plan.channel_tiles()),
                        channel = number % plan.channel_tiles() * plan.channels,
                        output = group * plan.outputs_of_group +
                                 number / plan.channel_tiles() % plan.output_tiles() * plan.outputs;
              Tile<S> sum = tile::zeros<S>({plan.outputs, plan.channels});
              const auto [first, last] = boxes_of_part(y_gradient, part, plan);
              for (Int n : range(first, last, pipelined(plan.stages))) {
                const Box box(n, y_gradient.extent(1), y_gradient.extent(2), plan);
                tile::matmul(window_of_y(y_gradient, box.plane, box.row, box.column, output, plan),
                             window_of_x(x, box, tap, group * plan.channels_of_group + channel, places, plan), sum,
                             {.a = true});
              }
              const Int outputs = static_cast<std::int32_t>(plan.groups * plan.outputs_of_group);
              tile::store_at(parts, {part * outputs + output, tap.in_rows, tap.column, channel},
                             tile::reshape(sum, {plan.outputs, 1, 1, plan.channels}),
                             tile::coordinate({plan.outputs, 1, 1, plan.channels}, 0) + output < outputs);
            },
            TileOptions{.threads = plan.threads}};
  }

  // The sums of all parts. A block has some channels of one output at one place of the kernel.
  static OfWeights of_weights(const Plan &plan) {
    return {"convolution_of_weights",
            {"parts", "weights_gradient"},
            [=](Array<const S, 4> parts, Out weights_gradient) {
              auto [output, place, k] = block_index<3>();
              const Int outputs = weights_gradient.extent(0), row = place / weights_gradient.extent(2),
                        column = place % weights_gradient.extent(2);
              Tile<S> sum = tile::zeros<S>({plan.channels});
              for (Int part : range(plan.parts))
                sum += tile::load(parts, {part * outputs + output, row, column, k}, {plan.channels});
              if (plan.add_gradients)
                sum = sum + as_type<S>(tile::load(weights_gradient, {output, row, column, k}, {plan.channels}));
              tile::store(weights_gradient, {output, row, column, k}, as_type<T>(sum));
            },
            TileOptions{.threads = plan.threads}};
  }

  static BiasParts bias_parts(const Plan &plan) {
    return {"convolution_bias_parts",
            {"y_gradient", "parts"},
            [=](In y_gradient, Array<S, 2> parts) {
              auto [k, part] = block_index<2>();
              Tile<S> sum = tile::zeros<S>({plan.box(), plan.outputs});
              const auto [first, last] = boxes_of_part(y_gradient, part, plan);
              for (Int n : range(first, last)) {
                const Box box(n, y_gradient.extent(1), y_gradient.extent(2), plan);
                sum += as_type<S>(window_of_y(y_gradient, box.plane, box.row, box.column, k * plan.outputs, plan));
              }
              tile::store(parts, {part, k}, tile::reshape(tile::sum(sum, {0}), {plan.outputs}));
            },
            TileOptions{.threads = plan.threads}};
  }
  static OfBias of_bias(const Plan &plan) {
    return {"convolution_of_bias",
            {"parts", "bias_gradient"},
            [=](Array<const S, 2> parts, Array<T, 1> bias_gradient) {
              const Int k = block_index();
              Tile<S> sum = tile::zeros<S>({plan.outputs});
              for (Int part : range(plan.parts)) sum += tile::load(parts, {part, k}, {plan.outputs});
              if (plan.add_gradients) sum = sum + as_type<S>(tile::load(bias_gradient, {k}, {plan.outputs}));
              tile::store(bias_gradient, {k}, as_type<T>(sum));
            },
            TileOptions{.threads = plan.threads}};
  }
};

SAMITE_TRACED_ONCE_END

}  // namespace samite::ops::detail
