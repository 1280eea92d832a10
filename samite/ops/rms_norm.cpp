#include "samite/ops/rms_norm.h"

#include "samite/base/error.h"
#include "samite/lang/traced_once.h"
#include "samite/ops/gradients.h"
#include "samite/ops/kernels.h"
#include "samite/ops/matmul_plan.h"
#include "samite/ops/rows.h"

#include <algorithm>
#include <bit>

namespace samite::ops {
namespace {

using detail::RowPlan;

// 16-bit numbers are converted at each read.
std::int64_t longest_on_cpu(ScalarType type) { return size_of(type) == 2 ? 8192 : 2048; }

SAMITE_TRACED_ONCE_BEGIN

// The rows of tile i, divided by the root of their mean square.
template <Scalar T>
class NormalisedRows {
 public:
  using S = detail::RowNumber<T>;

  NormalisedRows(const Array<const T, 2> &x, const Int &i, const Traced<S> &epsilon, const RowPlan &plan)
      : x_(x),
        i_(i),
        plan_(plan),
        row_(plan.in_parts ? tile::zeros<S>({plan.rows, 1}) : loaded(0)),
        inverse_(rsqrt(squares() * (S(1) / cast<Traced<S>>(x.extent(1))) + epsilon)) {}

  // Zero beyond the end of the rows. Rows that fit one tile have only part 0.
  Tile<S> part(const Int &k) const { return (plan_.in_parts ? loaded(k) : row_) * inverse_; }
  const Tile<S> &inverse() const { return inverse_; }
  // The mean square of a row beyond the last one is 0, and epsilon may be 0, too.
  void zero_beyond_the_last() {
    inverse_ = select(tile::coordinate({plan_.rows, 1}, 0) + i_ * plan_.rows < x_.extent(0), inverse_, S(0));
  }

 private:
  Tile<S> loaded(const Int &k) const { return detail::load_rows<T>(x_, i_, k, plan_); }
  Tile<S> squares() const {
    if (!plan_.in_parts) return tile::sum(row_ * row_, {1});
    Tile<S> sum = tile::zeros<S>({plan_.rows, 1});
    for (Int k : range(tile::ceil_div(x_.extent(1), plan_.columns))) {
      const Tile<S> part = loaded(k);
      sum += tile::sum(part * part, {1});
    }
    return sum;
  }

  Array<const T, 2> x_;
  Int i_;
  RowPlan plan_;
  Tile<S> row_, inverse_;
};

template <Scalar S>
Tile<S> of_columns(const Array<const S, 1> &weight, const Int &k, const RowPlan &plan) {
  return tile::reshape(tile::load(weight, {k}, {plan.columns}), {1, plan.columns});
}

template <Scalar T, class Finish>
void normalise(const Array<const T, 2> &x, const Array<T, 2> &y, const Traced<detail::RowNumber<T>> &epsilon,
               const RowPlan &plan, const Finish &finish) {
  const Int i = block_index();
  const NormalisedRows<T> rows(x, i, epsilon, plan);
  if (!plan.in_parts) return detail::store_rows<T>(y, i, 0, finish(rows.part(0), Int(0)));
  for (Int k : range(tile::ceil_div(x.extent(1), plan.columns)))
    detail::store_rows<T>(y, i, k, finish(rows.part(k), k));
}

template <Scalar T>
using Plain = TileKernel<void(Array<const T, 2>, Array<T, 2>, Traced<detail::RowNumber<T>>)>;
template <Scalar T>
using Weighted = TileKernel<void(Array<const T, 2>, Array<const detail::RowNumber<T>, 1>, Array<T, 2>,
                                 Traced<detail::RowNumber<T>>)>;

template <Scalar T>
Plain<T> plain_of(const RowPlan &plan) {
  using S = detail::RowNumber<T>;
  return {"rms_norm",
          {"x", "y", "epsilon"},
          [=](Array<const T, 2> x, Array<T, 2> y, const Traced<S> &epsilon) {
            normalise<T>(x, y, epsilon, plan, [](const Tile<S> &part, const Int &) { return part; });
          },
          TileOptions{.threads = plan.threads}};
}

template <Scalar T>
Weighted<T> weighted_of(const RowPlan &plan) {
  using S = detail::RowNumber<T>;
  return {"rms_norm",
          {"x", "weight", "y", "epsilon"},
          [=](Array<const T, 2> x, Array<const S, 1> weight, Array<T, 2> y, const Traced<S> &epsilon) {
            normalise<T>(x, y, epsilon, plan, [&](const Tile<S> &part, const Int &k) {
              return Tile<S>(part * of_columns<S>(weight, k, plan));
            });
          },
          TileOptions{.threads = plan.threads}};
}

SAMITE_TRACED_ONCE_END

template <Scalar T>
std::shared_ptr<jit::KernelDefinition> rms_norm_kernel(const RowPlan &plan, bool weighted) {
  static detail::Kernels<RowPlan, Plain<T>> plain(plain_of<T>, /*read_elsewhere=*/0);
  static detail::Kernels<RowPlan, Weighted<T>> with_weight(weighted_of<T>, /*read_elsewhere=*/0);
  return weighted ? with_weight.at(plan).definition() : plain.at(plan).definition();
}

struct AdjointPlan {
  RowPlan part;
  int tiles = 1;  // of rows, that a block iterates over
  bool add_gradients = false;

  friend bool operator==(const AdjointPlan &, const AdjointPlan &) = default;
};

template <Scalar T>
using PlainAdjoint = TileKernel<void(Array<const T, 2>, Array<const T, 2>, Array<T, 2>, Traced<detail::RowNumber<T>>)>;
template <Scalar T>
using WeightedAdjoint = TileKernel<void(Array<const T, 2>, Array<const detail::RowNumber<T>, 1>, Array<const T, 2>,
                                        Array<T, 2>, Array<detail::RowNumber<T>, 1>, Traced<detail::RowNumber<T>>)>;

SAMITE_TRACED_ONCE_BEGIN

// With n = x / sqrt(mean square + epsilon), g the cotangent of y, and w g its product with the weight:
//
//   x_gradient = (w g - n mean(w g n)) / sqrt(mean square + epsilon)
//
// Computes it for the rows of tile i, and calls each(k, g n) for each part of them. `weigh(k, g)` is w g.
template <Scalar T, class Weigh, class Each>
void differentiate(const Array<const T, 2> &x, const Array<const T, 2> &y_gradient, const Array<T, 2> &x_gradient,
                   const Traced<detail::RowNumber<T>> &epsilon, const Int &i, const AdjointPlan &adjoint,
                   const Weigh &weigh, const Each &each) {
  using S = detail::RowNumber<T>;
  const RowPlan &plan = adjoint.part;
  const Traced<S> share = S(1) / cast<Traced<S>>(x.extent(1));
  NormalisedRows<T> rows(x, i, epsilon, plan);
  rows.zero_beyond_the_last();
  const auto of_y = [&](const Int &k) { return detail::load_rows<T>(y_gradient, i, k, plan); };
  const auto put = [&](const Int &k, const Tile<S> &weighted, const Tile<S> &n, const Tile<S> &along) {
    detail::put_rows<T>(x_gradient, i, k, (weighted - n * (along * share)) * rows.inverse(), plan,
                        adjoint.add_gradients);
  };
  if (!plan.in_parts) {
    const Tile<S> n = rows.part(0), g = of_y(0), weighted = weigh(Int(0), g);
    put(0, weighted, n, tile::sum(weighted * n, {1}));
    each(Int(0), Tile<S>(g * n));
    return;
  }
  const Int parts = tile::ceil_div(x.extent(1), plan.columns);
  Tile<S> along = tile::zeros<S>({plan.rows, 1});
  for (Int k : range(parts)) along += tile::sum(weigh(k, of_y(k)) * rows.part(k), {1});
  for (Int k : range(parts)) {
    const Tile<S> n = rows.part(k), g = of_y(k);
    put(k, weigh(k, g), n, along);
    each(k, Tile<S>(g * n));
  }
}

template <Scalar T>
PlainAdjoint<T> plain_adjoint_of(const AdjointPlan &adjoint) {
  using S = detail::RowNumber<T>;
  return {"rms_norm_adjoint",
          {"x", "y_gradient", "x_gradient", "epsilon"},
          [=](Array<const T, 2> x, Array<const T, 2> y_gradient, Array<T, 2> x_gradient, const Traced<S> &epsilon) {
            differentiate<T>(
                x, y_gradient, x_gradient, epsilon, block_index(), adjoint,
                [](const Int &, const Tile<S> &g) { return g; }, [](const Int &, const Tile<S> &) {});
          },
          TileOptions{.threads = adjoint.part.threads}};
}

// The gradient of the weight += the sum of g n over all rows.
template <Scalar T>
WeightedAdjoint<T> weighted_adjoint_of(const AdjointPlan &adjoint) {
  using S = detail::RowNumber<T>;
  const RowPlan plan = adjoint.part;
  return {"rms_norm_adjoint",
          {"x", "weight", "y_gradient", "x_gradient", "weight_gradient", "epsilon"},
          [=](Array<const T, 2> x, Array<const S, 1> weight, Array<const T, 2> y_gradient, Array<T, 2> x_gradient,
              Array<S, 1> weight_gradient, const Traced<S> &epsilon) {
            const Int first = block_index() * adjoint.tiles;
            const auto over_tile = [&](const Int &tile, const auto &each) {
              differentiate<T>(
                  x, y_gradient, x_gradient, epsilon, first + tile, adjoint,
                  [&](const Int &k, const Tile<S> &g) { return Tile<S>(g * of_columns<S>(weight, k, plan)); }, each);
            };
            const auto add_rows = [&](const Int &k, const Tile<S> &rows) {
              const Tile<S> sum = plan.rows == 1 ? rows : Tile<S>(tile::sum(rows, {0}));
              tile::atomic_add(weight_gradient, {k}, tile::reshape(sum, {plan.columns}));
            };
            if (adjoint.tiles == 1 || plan.in_parts) {
              for (Int tile : range(adjoint.tiles)) over_tile(tile, add_rows);
              return;
            }
            Tile<S> of_weight = tile::zeros<S>({plan.rows, plan.columns});
            for (Int tile : range(adjoint.tiles))
              over_tile(tile, [&](const Int &, const Tile<S> &rows) { of_weight += rows; });
            add_rows(0, of_weight);
          },
          TileOptions{.threads = plan.threads}};
}

SAMITE_TRACED_ONCE_END

// The gradient of the weight, to which all blocks add.
constexpr std::uint64_t sums_of_columns = 0b10000;

template <Scalar T>
std::shared_ptr<jit::KernelDefinition> adjoint_kernel(const AdjointPlan &plan, bool weighted) {
  static detail::Kernels<AdjointPlan, PlainAdjoint<T>> plain(plain_adjoint_of<T>, /*read_elsewhere=*/0);
  static detail::Kernels<AdjointPlan, WeightedAdjoint<T>> with_weight(weighted_adjoint_of<T>, sums_of_columns);
  return weighted ? with_weight.at(plan).definition() : plain.at(plan).definition();
}

// On CUDA, if there are more tiles than concurrent blocks, blocks iterate over several tiles, so that fewer sums are
// added to the same columns.
AdjointPlan adjoint_plan(ScalarType type, bool weighted, std::int64_t rows, std::int64_t columns,
                         const PlanDevice &device) {
  const RowPlan part = detail::row_plan(columns, device, longest_on_cpu(type), detail::few_numbers);
  if (device.is_cpu() || !weighted) return {part, 1};
  const std::int64_t tiles = detail::row_blocks(rows, part)[0];
  const std::int64_t each = std::clamp<std::int64_t>(tiles / (std::int64_t{4} * device.multiprocessors), 1, 16);
  return {part, static_cast<int>(std::bit_floor(static_cast<std::uint64_t>(each)))};
}

// No blocks for rows without elements.
Extents blocks_of(std::int64_t rows, std::int64_t columns, const RowPlan &plan) {
  return columns == 0 ? Extents{0} : detail::row_blocks(rows, plan);
}

PlannedLaunch adjoint_for(const AnyBuffer &x, bool weighted, bool add_gradients, SourceLocation where) {
  return rms_norm_adjoint_launch(x.type(), weighted, x.extents()[0], x.extents()[1], plan_device(x.device()),
                                 add_gradients, where);
}

PlannedLaunch forward_for(const AnyBuffer &x, bool weighted, SourceLocation where) {
  return rms_norm_launch(x.type(), weighted, x.extents()[0], x.extents()[1], plan_device(x.device()), where);
}

jit::Argument epsilon_of(double epsilon, const AnyBuffer &x) {
  return detail::number(epsilon, detail::row_number_type(x.type()));
}

}  // namespace

PlannedLaunch rms_norm_launch(ScalarType type, bool weighted, std::int64_t rows, std::int64_t columns,
                              const PlanDevice &device, SourceLocation where) {
  const RowPlan plan = detail::row_plan(columns, device, longest_on_cpu(type), detail::many_numbers(type));
  const Extents blocks = blocks_of(rows, columns, plan);
  switch (type) {
#define SAMITE_CASE(T) \
  case scalar_type_of<T>: return {rms_norm_kernel<T>(plan, weighted), blocks};
    SAMITE_ROW_TYPES(SAMITE_CASE)
#undef SAMITE_CASE
    default: detail::refuse_row_type("rms_norm", type, where);
  }
}

PlannedLaunch rms_norm_adjoint_launch(ScalarType type, bool weighted, std::int64_t rows, std::int64_t columns,
                                      const PlanDevice &device, bool add_gradients, SourceLocation where) {
  AdjointPlan plan = adjoint_plan(type, weighted, rows, columns, device);
  plan.add_gradients = add_gradients;
  const Extents blocks{detail::ceil_div(blocks_of(rows, columns, plan.part)[0], plan.tiles)};
  switch (type) {
#define SAMITE_CASE(T) \
  case scalar_type_of<T>: return {adjoint_kernel<T>(plan, weighted), blocks};
    SAMITE_ROW_TYPES(SAMITE_CASE)
#undef SAMITE_CASE
    default: detail::refuse_row_type("rms_norm_adjoint", type, where);
  }
}

void rms_norm(const AnyBuffer &x, const AnyBuffer &weight, const AnyBuffer &y, const RmsNormOptions &options,
              SourceLocation where) {
  detail::check_rows("rms_norm", x, y, where);
  const PlannedLaunch planned = forward_for(x, true, where);
  detail::check_columns_of("rms_norm", x, weight, "weight", where);
  const auto adjoint = [arrays = std::vector{x, weight, y}, epsilon = options.epsilon,
                        where](std::span<const AnyBuffer> values) {
    const AnyBuffer of_x = detail::gradient_or_zeros(arrays[0]), of_weight = detail::gradient_or_zeros(arrays[1]),
                    of_y = arrays[2].gradient();
    return std::vector{detail::adjoint_launch(
        adjoint_for(arrays[0], true, /*add_gradients=*/true, where),
        {{&values[0]}, {&values[1]}, {&of_y}, {&of_x}, {&of_weight}, epsilon_of(epsilon, arrays[0])})};
  };
  jit::perform(
      {.name = "rms_norm",
       .arrays = {{.buffer = x, .name = "x", .needed = true},
                  {.buffer = weight, .name = "weight", .needed = true},
                  {.buffer = y, .name = "y", .written = true}},
       .stream = options.stream,
       .adjoint = adjoint},
      [&](bool) {
        detail::launch_planned(planned, {{&x}, {&weight}, {&y}, epsilon_of(options.epsilon, x)}, where, options.stream);
      },
      where);
}

void rms_norm(const AnyBuffer &x, const AnyBuffer &y, const RmsNormOptions &options, SourceLocation where) {
  detail::check_rows("rms_norm", x, y, where);
  const PlannedLaunch planned = forward_for(x, false, where);
  const auto adjoint = [x, y, epsilon = options.epsilon, where](std::span<const AnyBuffer> values) {
    const AnyBuffer of_x = x.gradient(), of_y = y.gradient();
    return std::vector{detail::adjoint_launch(adjoint_for(x, false, /*add_gradients=*/true, where),
                                              {{&values[0]}, {&of_y}, {&of_x}, epsilon_of(epsilon, x)})};
  };
  jit::perform(
      {.name = "rms_norm",
       .arrays = {{.buffer = x, .name = "x", .needed = true}, {.buffer = y, .name = "y", .written = true}},
       .stream = options.stream,
       .adjoint = adjoint},
      [&](bool) {
        detail::launch_planned(planned, {{&x}, {&y}, epsilon_of(options.epsilon, x)}, where, options.stream);
      },
      where);
}

void rms_norm_adjoint(const AnyBuffer &x, const AnyBuffer &weight, const AnyBuffer &y_gradient,
                      const AnyBuffer &x_gradient, const AnyBuffer &weight_gradient, const RmsNormOptions &options,
                      SourceLocation where) {
  detail::check_rows("rms_norm_adjoint", x, y_gradient, where);
  detail::check_rows("rms_norm_adjoint", x, x_gradient, where);
  const PlannedLaunch planned = adjoint_for(x, true, options.add_gradients, where);
  detail::check_columns_of("rms_norm_adjoint", x, weight, "weight", where);
  detail::check_columns_of("rms_norm_adjoint", x, weight_gradient, "gradient of the weight", where);
  detail::launch_planned(
      planned, {{&x}, {&weight}, {&y_gradient}, {&x_gradient}, {&weight_gradient}, epsilon_of(options.epsilon, x)},
      where, options.stream);
}

void rms_norm_adjoint(const AnyBuffer &x, const AnyBuffer &y_gradient, const AnyBuffer &x_gradient,
                      const RmsNormOptions &options, SourceLocation where) {
  detail::check_rows("rms_norm_adjoint", x, y_gradient, where);
  detail::check_rows("rms_norm_adjoint", x, x_gradient, where);
  detail::launch_planned(adjoint_for(x, false, options.add_gradients, where),
                         {{&x}, {&y_gradient}, {&x_gradient}, epsilon_of(options.epsilon, x)}, where, options.stream);
}

}  // namespace samite::ops
