#include "samite/ops/layer_norm.h"

#include "samite/base/error.h"
#include "samite/ops/kernels.h"
#include "samite/ops/matmul_plan.h"
#include "samite/ops/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace samite::ops {
namespace {

using detail::RowPlan;

// Numbers of 16 bits are converted each time that they are read.
std::int64_t longest_on_cpu(ScalarType type) { return size_of(type) == 2 ? 8192 : 2048; }

// Stores finish(normalised part k, k) for each part of the rows.
template <Scalar T, class Finish>
void normalise(const Array<const T, 2> &x, const Array<T, 2> &y, const Traced<detail::RowNumber<T>> &epsilon,
               const RowPlan &plan, const Finish &finish) {
  using S = detail::RowNumber<T>;
  const Int i = block_index();
  const Traced<S> share = S(1) / cast<Traced<S>>(x.extent(1));
  const auto centred = [&](const Int &k, const Tile<S> &mean) {
    return select(detail::inside_rows(x.extent(1), k, plan), detail::load_rows<T>(x, i, k, plan) - mean, S(0));
  };
  if (!plan.in_parts) {
    const Tile<S> row = centred(0, tile::sum(detail::load_rows<T>(x, i, 0, plan), {1}) * share);
    const Tile<S> inverse = rsqrt(tile::sum(row * row, {1}) * share + epsilon);
    detail::store_rows<T>(y, i, 0, finish(row * inverse, Int(0)));
    return;
  }
  const Int parts = tile::ceil_div(x.extent(1), plan.columns);
  Tile<S> sum = tile::zeros<S>({plan.rows, 1}), squares = tile::zeros<S>({plan.rows, 1});
  for (Int k : range(parts)) sum += tile::sum(detail::load_rows<T>(x, i, k, plan), {1});
  const Tile<S> mean = sum * share;
  for (Int k : range(parts)) {
    const Tile<S> part = centred(k, mean);
    squares += tile::sum(part * part, {1});
  }
  const Tile<S> inverse = rsqrt(squares * share + epsilon);
  for (Int k : range(parts)) detail::store_rows<T>(y, i, k, finish(centred(k, mean) * inverse, k));
}

template <Scalar T>
using Plain = TileKernel<void(Array<const T, 2>, Array<T, 2>, Traced<detail::RowNumber<T>>)>;
template <Scalar T>
using Weighted = TileKernel<void(Array<const T, 2>, Array<const detail::RowNumber<T>, 1>,
                                 Array<const detail::RowNumber<T>, 1>, Array<T, 2>, Traced<detail::RowNumber<T>>)>;

template <Scalar T>
Plain<T> plain_of(const RowPlan &plan) {
  using S = detail::RowNumber<T>;
  return {"layer_norm",
          {"x", "y", "epsilon"},
          [=](Array<const T, 2> x, Array<T, 2> y, const Traced<S> &epsilon) {
            normalise<T>(x, y, epsilon, plan, [](const Tile<S> &part, const Int &) { return part; });
          },
          TileOptions{.threads = plan.threads}};
}

template <Scalar T>
Weighted<T> weighted_of(const RowPlan &plan) {
  using S = detail::RowNumber<T>;
  return {"layer_norm",
          {"x", "weight", "bias", "y", "epsilon"},
          [=](Array<const T, 2> x, Array<const S, 1> weight, Array<const S, 1> bias, Array<T, 2> y,
              const Traced<S> &epsilon) {
            const auto of_columns = [&](const Array<const S, 1> &numbers, const Int &k) {
              return tile::reshape(tile::load(numbers, {k}, {plan.columns}), {1, plan.columns});
            };
            normalise<T>(x, y, epsilon, plan, [&](const Tile<S> &part, const Int &k) {
              return Tile<S>(part * of_columns(weight, k) + of_columns(bias, k));
            });
          },
          TileOptions{.threads = plan.threads}};
}

template <Scalar T>
std::shared_ptr<jit::KernelDefinition> layer_norm_kernel(const RowPlan &plan, bool weighted) {
  static detail::Kernels<RowPlan, Plain<T>> plain(plain_of<T>);
  static detail::Kernels<RowPlan, Weighted<T>> with_weight(weighted_of<T>);
  return weighted ? with_weight.at(plan).definition() : plain.at(plan).definition();
}

struct AdjointPlan {
  RowPlan part;
  int tiles = 1;  // of rows, that a block goes over

  friend auto operator<=>(const AdjointPlan &, const AdjointPlan &) = default;
};

template <Scalar T>
using Adjoint =
    TileKernel<void(Array<const T, 2>, Array<const detail::RowNumber<T>, 1>, Array<const T, 2>, Array<T, 2>,
                    Array<detail::RowNumber<T>, 1>, Array<detail::RowNumber<T>, 1>, Traced<detail::RowNumber<T>>)>;

// With n = (x - mean) / sqrt(variance + epsilon), g the cotangent of y, and w g its product with the weight:
//
//   x_gradient = (w g - mean(w g) - n mean(w g n)) / sqrt(variance + epsilon)
//   weight_gradient += the sum of g n over all rows, bias_gradient += that of g
template <Scalar T>
Adjoint<T> adjoint_of(const AdjointPlan &adjoint) {
  using S = detail::RowNumber<T>;
  const RowPlan plan = adjoint.part;
  return {
      "layer_norm_adjoint",
      {"x", "weight", "y_gradient", "x_gradient", "weight_gradient", "bias_gradient", "epsilon"},
      [=](Array<const T, 2> x, Array<const S, 1> weight, Array<const T, 2> y_gradient, Array<T, 2> x_gradient,
          Array<S, 1> weight_gradient, Array<S, 1> bias_gradient, const Traced<S> &epsilon) {
        const Traced<S> share = S(1) / cast<Traced<S>>(x.extent(1));
        const Int parts = plan.in_parts ? tile::ceil_div(x.extent(1), plan.columns) : Int(1);
        // Adds up function(k) over the parts of a row; one part is no loop.
        const auto over_parts = [&](const auto &function) {
          if (!plan.in_parts) return Tile<S>(tile::sum(function(Int(0)), {1}));
          Tile<S> sum = tile::zeros<S>({plan.rows, 1});
          for (Int k : range(parts)) sum += tile::sum(function(k), {1});
          return sum;
        };
        const auto of_columns = [&](const Int &k) {
          return tile::reshape(tile::load(weight, {k}, {plan.columns}), {1, plan.columns});
        };
        const auto add_rows = [&](const Array<S, 1> &sums, const Int &k, const Tile<S> &rows) {
          const Tile<S> sum = plan.rows == 1 ? rows : Tile<S>(tile::sum(rows, {0}));
          tile::atomic_add(sums, {k}, tile::reshape(sum, {plan.columns}));
        };
        // Of the rows of tile i; calls each(k, n, g, x_gradient) for each part.
        const auto gradients = [&](const Int &i, const auto &each) {
          const Tile<S> mean = over_parts([&](const Int &k) { return detail::load_rows<T>(x, i, k, plan); }) * share;
          const auto centred = [&](const Int &k) {
            return select(detail::inside_rows(x.extent(1), k, plan), detail::load_rows<T>(x, i, k, plan) - mean, S(0));
          };
          const auto squares = [&](const Tile<S> &part) { return Tile<S>(part * part); };
          const auto of_y = [&](const Int &k) { return detail::load_rows<T>(y_gradient, i, k, plan); };
          // Of a row beyond the last one the variance is 0, and so may epsilon be.
          const auto inverse_of = [&](const Tile<S> &sum) {
            return Tile<S>(select(tile::coordinate({plan.rows, 1}, 0) + i * plan.rows < x.extent(0),
                                  rsqrt(sum * share + epsilon), S(0)));
          };
          const auto gradient = [&](const Tile<S> &weighted, const Tile<S> &n, const Tile<S> &inverse,
                                    const Tile<S> &all, const Tile<S> &along) {
            return Tile<S>((weighted - all * share - n * (along * share)) * inverse);
          };
          if (!plan.in_parts) {
            const Tile<S> row = centred(0), inverse = inverse_of(tile::sum(squares(row), {1})), n = row * inverse;
            const Tile<S> g = of_y(0), weighted = g * of_columns(0);
            each(Int(0), n, g, gradient(weighted, n, inverse, tile::sum(weighted, {1}), tile::sum(weighted * n, {1})));
            return;
          }
          const Tile<S> inverse = inverse_of(over_parts([&](const Int &k) { return squares(centred(k)); }));
          const auto weighted = [&](const Int &k) { return Tile<S>(of_y(k) * of_columns(k)); };
          const Tile<S> all = over_parts(weighted);
          const Tile<S> along = over_parts([&](const Int &k) { return Tile<S>(weighted(k) * (centred(k) * inverse)); });
          for (Int k : range(parts)) {
            const Tile<S> n = centred(k) * inverse;
            each(k, n, of_y(k), gradient(weighted(k), n, inverse, all, along));
          }
        };
        const Int first = block_index() * adjoint.tiles;
        if (adjoint.tiles == 1 || plan.in_parts) {
          for (Int tile : range(adjoint.tiles))
            gradients(first + tile, [&](const Int &k, const Tile<S> &n, const Tile<S> &g, const Tile<S> &of_x) {
              detail::store_rows<T>(x_gradient, first + tile, k, of_x);
              add_rows(weight_gradient, k, g * n);
              add_rows(bias_gradient, k, g);
            });
          return;
        }
        Tile<S> of_weight = tile::zeros<S>({plan.rows, plan.columns});
        Tile<S> of_bias = tile::zeros<S>({plan.rows, plan.columns});
        for (Int tile : range(adjoint.tiles))
          gradients(first + tile, [&](const Int &k, const Tile<S> &n, const Tile<S> &g, const Tile<S> &of_x) {
            detail::store_rows<T>(x_gradient, first + tile, k, of_x);
            of_weight += g * n;
            of_bias += g;
          });
        add_rows(weight_gradient, 0, of_weight);
        add_rows(bias_gradient, 0, of_bias);
      },
      TileOptions{.threads = plan.threads}};
}

template <Scalar T>
std::shared_ptr<jit::KernelDefinition> adjoint_kernel(const AdjointPlan &plan) {
  static detail::Kernels<AdjointPlan, Adjoint<T>> made(adjoint_of<T>);
  return made.at(plan).definition();
}

// On CUDA blocks go over several tiles, so that fewer sums are added to the same columns, where there are more of them
// than run at once.
AdjointPlan adjoint_plan(ScalarType type, std::int64_t rows, std::int64_t columns, const PlanDevice &device) {
  const RowPlan part = detail::row_plan(columns, device, longest_on_cpu(type), detail::few_numbers);
  if (device.is_cpu()) return {part, 1};
  const std::int64_t tiles = detail::row_blocks(rows, part)[0];
  const std::int64_t each = std::clamp<std::int64_t>(tiles / (std::int64_t{4} * device.multiprocessors), 1, 16);
  return {part, static_cast<int>(std::bit_floor(static_cast<std::uint64_t>(each)))};
}

}  // namespace

PlannedLaunch layer_norm_adjoint_launch(ScalarType type, std::int64_t rows, std::int64_t columns,
                                        const PlanDevice &device, SourceLocation where) {
  const AdjointPlan plan = adjoint_plan(type, rows, columns, device);
  const Extents blocks{detail::ceil_div(detail::row_blocks(rows, plan.part)[0], plan.tiles)};
  switch (type) {
#define SAMITE_CASE(T) \
  case scalar_type_of<T>: return {adjoint_kernel<T>(plan), blocks};
    SAMITE_ROW_TYPES(SAMITE_CASE)
#undef SAMITE_CASE
    default: detail::refuse_row_type("layer_norm_adjoint", type, where);
  }
}

PlannedLaunch layer_norm_launch(ScalarType type, bool weighted, std::int64_t rows, std::int64_t columns,
                                const PlanDevice &device, SourceLocation where) {
  const RowPlan plan = detail::row_plan(columns, device, longest_on_cpu(type), detail::many_numbers(type));
  const Extents blocks = detail::row_blocks(rows, plan);
  switch (type) {
#define SAMITE_CASE(T) \
  case scalar_type_of<T>: return {layer_norm_kernel<T>(plan, weighted), blocks};
    SAMITE_ROW_TYPES(SAMITE_CASE)
#undef SAMITE_CASE
    default: detail::refuse_row_type("layer_norm", type, where);
  }
}

void layer_norm(const AnyBuffer &x, const AnyBuffer &weight, const AnyBuffer &bias, const AnyBuffer &y, double epsilon,
                SourceLocation where) {
  detail::check_rows("layer_norm", x, y, where);
  const PlannedLaunch planned =
      layer_norm_launch(x.type(), true, x.extents()[0], x.extents()[1], plan_device(x.device()), where);
  const ScalarType sums = planned.kernel->parameters()[1].type;
  for (const auto &[buffer, what] : {std::pair{&weight, "weight"}, std::pair{&bias, "bias"}})
    if (!buffer->valid() || buffer->type() != sums || buffer->extents() != Extents{x.extents()[1]})
      throw UserError(where, fmt::format("layer_norm: expected a {} of {} numbers of {}, one for each column of x; {} "
                                         "given",
                                         what, x.extents()[1], cpp_name(sums),
                                         buffer->valid() ? buffer->to_string() : "an empty buffer"));
  detail::launch_planned(planned, {{&x}, {&weight}, {&bias}, {&y}, detail::number(epsilon, sums)}, where);
}

void layer_norm(const AnyBuffer &x, const AnyBuffer &y, double epsilon, SourceLocation where) {
  detail::check_rows("layer_norm", x, y, where);
  const PlannedLaunch planned =
      layer_norm_launch(x.type(), false, x.extents()[0], x.extents()[1], plan_device(x.device()), where);
  detail::launch_planned(planned, {{&x}, {&y}, detail::number(epsilon, planned.kernel->parameters()[2].type)}, where);
}

}  // namespace samite::ops
