#include "samite/ops/group_norm.h"

#include "samite/base/error.h"
#include "samite/lang/traced_once.h"
#include "samite/ops/gradients.h"
#include "samite/ops/kernels.h"
#include "samite/ops/matmul_plan.h"
#include "samite/ops/operand_check.h"
#include "samite/ops/rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace samite::ops {
namespace {

// A block has a group of a batch element, and goes over it in tiles: channels that divide those of the group, so that
// no tile reaches into the next group.
struct GroupPlan {
  std::int64_t channels_of_group = 0;
  int channels = 0, places = 0, threads = 0;
  bool add_gradients = false;

  friend bool operator==(const GroupPlan &, const GroupPlan &) = default;
};

constexpr std::int64_t longest_on_cpu = 2048;

GroupPlan plan_of(ScalarType type, const GroupNormShape &shape, const PlanDevice &device) {
  const detail::RowPlan row = detail::row_plan(shape.places, device, longest_on_cpu, detail::many_numbers(type));
  GroupPlan plan{shape.channels, 1, row.columns, row.threads};
  while (shape.channels % (std::int64_t{2} * plan.channels) == 0 && 2 * plan.channels <= row.rows) plan.channels *= 2;
  return plan;
}

SAMITE_TRACED_ONCE_BEGIN

template <Scalar T>
struct GroupKernels {
  using S = detail::RowNumber<T>;
  using In = Array<const T, 3>;
  using Out = Array<T, 3>;
  using Weights = Array<const S, 1>;
  using Forward = TileKernel<void(In, Weights, Weights, Out, Traced<S>)>;
  using Adjoint = TileKernel<void(In, Weights, In, Out, Array<S, 1>, Array<S, 1>, Traced<S>)>;

  // The block's group, and its tiles.
  struct Group {
    GroupPlan plan;
    Int batch, group, places;
    Traced<S> share;  // 1 / the number of elements

    Group(const GroupPlan &plan, const Int &places) : Group(plan, block_index<2>(), places) {}
    template <class Index>
    Group(const GroupPlan &plan, const Index &index, const Int &places)
        : plan(plan),
          batch(index[0]),
          group(index[1]),
          places(places),
          share(S(1) / (cast<Traced<S>>(places) * S(plan.channels_of_group))) {}

    Int channel_tile(const Int &c) const {
      return group * static_cast<std::int32_t>(plan.channels_of_group / plan.channels) + c;
    }
    Tile<S> zeros() const { return tile::zeros<S>({plan.channels, plan.places}); }
    template <class A>
    Tile<S> load(const A &x, const Int &c, const Int &k) const {
      return detail::as_type<S>(tile::load(x, {batch, channel_tile(c), k}, {plan.channels, plan.places}));
    }
    void store(const Out &y, const Int &c, const Int &k, const Tile<S> &values) const {
      tile::store(y, {batch, channel_tile(c), k}, detail::as_type<T>(values));
    }
    template <class A>
    Tile<S> of_channels(const A &numbers, const Int &c) const {
      return tile::reshape(tile::load(numbers, {channel_tile(c)}, {plan.channels}), {plan.channels, 1});
    }
    Tile<S> inside(const Int &k, const Tile<S> &values) const {
      return select(tile::coordinate({1, plan.places}, 1) + k * plan.places < places, values, S(0));
    }
    auto channel_tiles() const { return range(Int(static_cast<std::int32_t>(plan.channels_of_group / plan.channels))); }
    auto place_tiles() const { return range(tile::ceil_div(places, plan.places)); }
  };

  // The mean and the variance of a group. It is shifted by its first element first, so that the rounding error for a
  // group far from zero depends on the differences of its elements, not on their magnitude.
  struct Statistics {
    const In &x;
    const Group &of;
    Traced<S> first, mean, inverse;

    Statistics(const In &x, const Group &of, const Traced<S> &epsilon)
        : x(x),
          of(of),
          first(stop_gradient(
              cast<Traced<S>>(x(of.batch, of.group * static_cast<std::int32_t>(of.plan.channels_of_group), 0)))),
          mean(S(0)),
          inverse(S(0)) {
      Tile<S> sum = of.zeros();
      for (Int c : of.channel_tiles())
        for (Int k : of.place_tiles()) sum += of.inside(k, of.load(x, c, k) - first);
      mean = tile::sum(sum) * of.share;
      Tile<S> rest = of.zeros(), squares = of.zeros();
      for (Int c : of.channel_tiles())
        for (Int k : of.place_tiles()) {
          const Tile<S> part = of.inside(k, of.load(x, c, k) - first - mean);
          rest += part;
          squares += part * part;
        }
      const Traced<S> left = tile::sum(rest) * of.share, variance = tile::sum(squares) * of.share - left * left;
      inverse = rsqrt(select(variance < S(0), Traced<S>(S(0)), variance) + epsilon);  // a NaN stays one
      mean += left;
    }
    Tile<S> normalised(const Int &c, const Int &k) const { return (of.load(x, c, k) - first - mean) * inverse; }
  };

  static Forward forward(const GroupPlan &plan) {
    return {"group_norm",
            {"x", "weight", "bias", "y", "epsilon"},
            [=](In x, Weights weight, Weights bias, Out y, const Traced<S> &epsilon) {
              const Group group(plan, x.extent(2));
              const Statistics of_group(x, group, epsilon);
              for (Int c : group.channel_tiles()) {
                const Tile<S> scale = group.of_channels(weight, c), shift = group.of_channels(bias, c);
                for (Int k : group.place_tiles()) group.store(y, c, k, of_group.normalised(c, k) * scale + shift);
              }
            },
            TileOptions{.threads = plan.threads}};
  }

  // With n the normalised elements, g the cotangent of y, and w g its product with the weight:
  //
  //   x_gradient = (w g - mean(w g) - n mean(w g n)) / sqrt(variance + epsilon)
  //   weight_gradient += the sum of g n over all places of a channel, bias_gradient += that of g
  static Adjoint adjoint(const GroupPlan &plan) {
    return {
        "group_norm_adjoint",
        {"x", "weight", "y_gradient", "x_gradient", "weight_gradient", "bias_gradient", "epsilon"},
        [=](In x, Weights weight, In y_gradient, Out x_gradient, Array<S, 1> weight_gradient, Array<S, 1> bias_gradient,
            const Traced<S> &epsilon) {
          const Group group(plan, x.extent(2));
          const Statistics of_group(x, group, epsilon);
          Tile<S> all = tile::zeros<S>({plan.channels, 1}), along = all;
          for (Int c : group.channel_tiles()) {
            Tile<S> of_weight = group.zeros(), of_bias = group.zeros();
            for (Int k : group.place_tiles()) {
              const Tile<S> g = group.load(y_gradient, c, k);
              of_weight += g * of_group.normalised(c, k);
              of_bias += g;
            }
            const Tile<S> sum_of_weight = tile::sum(of_weight, {1}), sum_of_bias = tile::sum(of_bias, {1});
            tile::atomic_add(weight_gradient, {group.channel_tile(c)}, tile::reshape(sum_of_weight, {plan.channels}));
            tile::atomic_add(bias_gradient, {group.channel_tile(c)}, tile::reshape(sum_of_bias, {plan.channels}));
            const Tile<S> scale = group.of_channels(weight, c);
            along += scale * sum_of_weight;
            all += scale * sum_of_bias;
          }
          const Traced<S> mean = tile::sum(all) * group.share, mean_along = tile::sum(along) * group.share;
          for (Int c : group.channel_tiles()) {
            const Tile<S> scale = group.of_channels(weight, c);
            for (Int k : group.place_tiles()) {
              const Tile<S> gradient =
                  (scale * group.load(y_gradient, c, k) - mean - of_group.normalised(c, k) * mean_along) *
                  of_group.inverse;
              group.store(x_gradient, c, k, plan.add_gradients ? gradient + group.load(x_gradient, c, k) : gradient);
            }
          }
        },
        TileOptions{.threads = plan.threads}};
  }
};

SAMITE_TRACED_ONCE_END

// The weight and the bias, and their gradients, which blocks of other batch elements read or add to.
constexpr std::uint64_t weights_of_forward = 0b0110, weights_of_adjoint = 0b110010;

template <Scalar T>
struct Made {
  detail::Kernels<GroupPlan, typename GroupKernels<T>::Forward> forward{GroupKernels<T>::forward, weights_of_forward};
  detail::Kernels<GroupPlan, typename GroupKernels<T>::Adjoint> adjoint{GroupKernels<T>::adjoint, weights_of_adjoint};

  static Made &all() {
    static Made all;
    return all;
  }
};

// No blocks for groups without elements, which lack a first one.
Extents blocks_of(const GroupNormShape &shape) {
  return {shape.batches, shape.channels == 0 || shape.places == 0 ? 0 : shape.groups};
}

void check_alike(const char *operation, const AnyBuffer &x, const AnyBuffer &y, SourceLocation where) {
  if (!x.valid() || !y.valid() || x.rank() != 3 || x.extents() != y.extents() || x.type() != y.type() ||
      x.device() != y.device())
    throw UserError(where, fmt::format("{}: expected two arrays of (batches, channels, places) of one type on one "
                                       "device: reshape them; given are {} and {}",
                                       operation, detail::text_of(x), detail::text_of(y)));
}

void check_channels(const char *operation, const AnyBuffer &x, const AnyBuffer &numbers, const char *what,
                    SourceLocation where) {
  const ScalarType type = detail::row_number_type(x.type());
  if (!numbers.valid() || numbers.type() != type || numbers.extents() != Extents{x.extents()[1]} ||
      numbers.device() != x.device())
    throw UserError(where, fmt::format("{}: expected a {} of {} numbers of {}, one for each channel of x, on {}; {} "
                                       "given",
                                       operation, what, x.extents()[1], cpp_name(type), x.device().to_string(),
                                       detail::text_of(numbers)));
}

GroupNormShape shape_of(const char *operation, const AnyBuffer &x, std::int64_t groups, SourceLocation where) {
  const Extents &e = x.extents();
  if (groups < 1 || e[1] % groups != 0)
    throw UserError(where, fmt::format("{}: expected a number of groups that divides the {} channels of x; {} given",
                                       operation, e[1], groups));
  return {e[0], groups, e[1] / groups, e[2]};
}

jit::Argument epsilon_of(double epsilon, const AnyBuffer &x) {
  return detail::number(epsilon, detail::row_number_type(x.type()));
}

}  // namespace

PlannedLaunch group_norm_launch(ScalarType type, const GroupNormShape &shape, const PlanDevice &device,
                                SourceLocation where) {
  const GroupPlan plan = plan_of(type, shape, device);
  switch (type) {
#define SAMITE_CASE(T) \
  case scalar_type_of<T>: return {Made<T>::all().forward.at(plan).definition(), blocks_of(shape)};
    SAMITE_ROW_TYPES(SAMITE_CASE)
#undef SAMITE_CASE
    default: detail::refuse_row_type("group_norm", type, where);
  }
}

PlannedLaunch group_norm_adjoint_launch(ScalarType type, const GroupNormShape &shape, const PlanDevice &device,
                                        bool add_gradients, SourceLocation where) {
  GroupPlan plan = plan_of(type, shape, device);
  plan.add_gradients = add_gradients;
  switch (type) {
#define SAMITE_CASE(T) \
  case scalar_type_of<T>: return {Made<T>::all().adjoint.at(plan).definition(), blocks_of(shape)};
    SAMITE_ROW_TYPES(SAMITE_CASE)
#undef SAMITE_CASE
    default: detail::refuse_row_type("group_norm_adjoint", type, where);
  }
}

void group_norm(const AnyBuffer &x, const AnyBuffer &weight, const AnyBuffer &bias, const AnyBuffer &y,
                const GroupNormOptions &options, SourceLocation where) {
  check_alike("group_norm", x, y, where);
  const GroupNormShape shape = shape_of("group_norm", x, options.groups, where);
  const PlannedLaunch planned = group_norm_launch(x.type(), shape, plan_device(x.device()), where);
  check_channels("group_norm", x, weight, "weight", where);
  check_channels("group_norm", x, bias, "bias", where);
  const auto adjoint = [arrays = std::vector{x, weight, bias, y}, shape, epsilon = options.epsilon,
                        where](std::span<const AnyBuffer> values) {
    const AnyBuffer of_x = detail::gradient_or_zeros(arrays[0]), of_weight = detail::gradient_or_zeros(arrays[1]),
                    of_bias = detail::gradient_or_zeros(arrays[2]), of_y = arrays[3].gradient();
    return std::vector{detail::adjoint_launch(
        group_norm_adjoint_launch(arrays[0].type(), shape, plan_device(arrays[0].device()), /*add_gradients=*/true,
                                  where),
        {{&values[0]}, {&values[1]}, {&of_y}, {&of_x}, {&of_weight}, {&of_bias}, epsilon_of(epsilon, arrays[0])})};
  };
  jit::perform(
      {.name = "group_norm",
       .arrays = {{.buffer = x, .name = "x", .needed = true},
                  {.buffer = weight, .name = "weight", .needed = true},
                  {bias, "bias"},
                  {.buffer = y, .name = "y", .written = true}},
       .stream = options.stream,
       .adjoint = adjoint},
      [&](bool) {
        detail::launch_planned(planned, {{&x}, {&weight}, {&bias}, {&y}, epsilon_of(options.epsilon, x)}, where,
                               options.stream);
      },
      where);
}

void group_norm_adjoint(const AnyBuffer &x, const AnyBuffer &weight, const AnyBuffer &y_gradient,
                        const AnyBuffer &x_gradient, const AnyBuffer &weight_gradient, const AnyBuffer &bias_gradient,
                        const GroupNormOptions &options, SourceLocation where) {
  const char *const name = "group_norm_adjoint";
  check_alike(name, x, y_gradient, where);
  check_alike(name, x, x_gradient, where);
  const GroupNormShape shape = shape_of(name, x, options.groups, where);
  const PlannedLaunch planned =
      group_norm_adjoint_launch(x.type(), shape, plan_device(x.device()), options.add_gradients, where);
  check_channels(name, x, weight, "weight", where);
  check_channels(name, x, weight_gradient, "gradient of the weight", where);
  check_channels(name, x, bias_gradient, "gradient of the bias", where);
  detail::launch_planned(planned,
                         {{&x},
                          {&weight},
                          {&y_gradient},
                          {&x_gradient},
                          {&weight_gradient},
                          {&bias_gradient},
                          epsilon_of(options.epsilon, x)},
                         where, options.stream);
}

}  // namespace samite::ops
