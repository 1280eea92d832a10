#include "samite/ops/softmax.h"

#include "samite/lang/traced_once.h"
#include "samite/ops/kernels.h"
#include "samite/ops/rows.h"

#include <limits>

namespace samite::ops {
namespace {

using detail::RowPlan;

// Exponentials are kept if a core's second-level cache has room for them. The adjoint has none.
constexpr std::int64_t longest_on_cpu = 131072, longest_adjoint_on_cpu = 2048;

SAMITE_TRACED_ONCE_BEGIN

template <Scalar T>
using RowKernel = TileKernel<void(Array<const T, 2>, Array<T, 2>)>;

template <Scalar T>
RowKernel<T> softmax_of(const RowPlan &plan) {
  using S = detail::RowNumber<T>;
  return {"softmax",
          {"x", "y"},
          [=](Array<const T, 2> x, Array<T, 2> y) {
            const Int i = block_index();
            const auto part = [&](const Int &k) {
              return select(detail::inside_rows(x.extent(1), k, plan), detail::load_rows<T>(x, i, k, plan),
                            -std::numeric_limits<S>::infinity());
            };
            if (!plan.in_parts) {
              const Tile<S> row = part(0);
              // The result does not depend on the subtracted number.
              const Tile<S> powers = exp(row - stop_gradient(tile::max(row, {1})));
              // One quotient for a row: exact quotients for all elements take longer than their exponentials.
              detail::store_rows<T>(y, i, 0, powers * (S(1) / tile::sum(powers, {1})));
              return;
            }
            const Int parts = tile::ceil_div(x.extent(1), plan.columns);
            Tile<S> largest = tile::full<S>({plan.rows, 1}, -std::numeric_limits<S>::infinity());
            for (Int k : range(parts)) largest = max(largest, tile::max(part(k), {1}));
            const Tile<S> subtracted = stop_gradient(largest);
            Tile<S> sum = tile::zeros<S>({plan.rows, 1});
            for (Int k : range(parts)) sum += tile::sum(exp(part(k) - subtracted), {1});
            const Tile<S> share = S(1) / sum;
            for (Int k : range(parts)) detail::store_rows<T>(y, i, k, exp(part(k) - subtracted) * share);
          },
          TileOptions{.threads = plan.threads}};
}

struct AdjointPlan {
  RowPlan rows;
  bool add_gradients = false;

  friend bool operator==(const AdjointPlan &, const AdjointPlan &) = default;
};

template <Scalar T>
using AdjointKernel = TileKernel<void(Array<const T, 2>, Array<const T, 2>, Array<T, 2>)>;

template <Scalar T>
AdjointKernel<T> softmax_adjoint_of(const AdjointPlan &adjoint) {
  using S = detail::RowNumber<T>;
  const RowPlan plan = adjoint.rows;
  return {"softmax_adjoint",
          {"y", "y_gradient", "x_gradient"},
          [=](Array<const T, 2> y, Array<const T, 2> y_gradient, Array<T, 2> x_gradient) {
            const Int i = block_index();
            const auto of_y = [&](const Int &k) { return detail::load_rows<T>(y, i, k, plan); };
            const auto of_gradient = [&](const Int &k) { return detail::load_rows<T>(y_gradient, i, k, plan); };
            const auto put = [&](const Int &k, const Tile<S> &part) {
              detail::put_rows<T>(x_gradient, i, k, part, plan, adjoint.add_gradients);
            };
            if (!plan.in_parts) {
              const Tile<S> values = of_y(0), cotangent = of_gradient(0);
              const Tile<S> sum = tile::sum(values * cotangent, {1});
              put(0, values * (cotangent - sum));
              return;
            }
            const Int parts = tile::ceil_div(y.extent(1), plan.columns);
            Tile<S> sum = tile::zeros<S>({plan.rows, 1});
            for (Int k : range(parts)) sum += tile::sum(of_y(k) * of_gradient(k), {1});
            for (Int k : range(parts)) put(k, of_y(k) * (of_gradient(k) - sum));
          },
          TileOptions{.threads = plan.threads}};
}

SAMITE_TRACED_ONCE_END

template <Scalar T>
std::shared_ptr<jit::KernelDefinition> softmax_adjoint_kernel(const AdjointPlan &plan) {
  static detail::Kernels<AdjointPlan, AdjointKernel<T>> made(softmax_adjoint_of<T>, /*read_elsewhere=*/0);
  return made.at(plan).definition();
}

template <Scalar T>
std::shared_ptr<jit::KernelDefinition> softmax_kernel(const RowPlan &plan) {
  static detail::Kernels<RowPlan, RowKernel<T>> made(softmax_of<T>, /*read_elsewhere=*/0);
  return made.at(plan).definition();
}

PlannedLaunch adjoint_for(const AnyBuffer &y, bool add_gradients, SourceLocation where) {
  return softmax_adjoint_launch(y.type(), y.extents()[0], y.extents()[1], plan_device(y.device()), add_gradients,
                                where);
}

}  // namespace

PlannedLaunch softmax_launch(ScalarType type, std::int64_t rows, std::int64_t columns, const PlanDevice &device,
                             SourceLocation where) {
  const RowPlan plan = detail::row_plan(columns, device, longest_on_cpu, detail::many_numbers(type));
  const Extents blocks = detail::row_blocks(rows, plan);
  switch (type) {
#define SAMITE_CASE(T) \
  case scalar_type_of<T>: return {softmax_kernel<T>(plan), blocks};
    SAMITE_ROW_TYPES(SAMITE_CASE)
#undef SAMITE_CASE
    default: detail::refuse_row_type("softmax", type, where);
  }
}

PlannedLaunch softmax_adjoint_launch(ScalarType type, std::int64_t rows, std::int64_t columns, const PlanDevice &device,
                                     bool add_gradients, SourceLocation where) {
  const AdjointPlan plan{detail::row_plan(columns, device, longest_adjoint_on_cpu, detail::many_numbers(type)),
                         add_gradients};
  const Extents blocks = detail::row_blocks(rows, plan.rows);
  switch (type) {
#define SAMITE_CASE(T) \
  case scalar_type_of<T>: return {softmax_adjoint_kernel<T>(plan), blocks};
    SAMITE_ROW_TYPES(SAMITE_CASE)
#undef SAMITE_CASE
    default: detail::refuse_row_type("softmax_adjoint", type, where);
  }
}

void softmax_adjoint(const AnyBuffer &y, const AnyBuffer &y_gradient, const AnyBuffer &x_gradient,
                     const SoftmaxOptions &options, SourceLocation where) {
  detail::check_rows("softmax_adjoint", y, y_gradient, where);
  detail::check_rows("softmax_adjoint", y, x_gradient, where);
  detail::launch_planned(adjoint_for(y, options.add_gradients, where), {{&y}, {&y_gradient}, {&x_gradient}}, where,
                         options.stream);
}

void softmax(const AnyBuffer &x, const AnyBuffer &y, const SoftmaxOptions &options, SourceLocation where) {
  detail::check_rows("softmax", x, y, where);
  const PlannedLaunch planned =
      softmax_launch(x.type(), x.extents()[0], x.extents()[1], plan_device(x.device()), where);
  const auto adjoint = [x, y, where](std::span<const AnyBuffer> values) {
    const AnyBuffer of_y = y.gradient(), of_x = x.gradient();
    return std::vector{
        detail::adjoint_launch(adjoint_for(y, /*add_gradients=*/true, where), {{&values[1]}, {&of_y}, {&of_x}})};
  };
  jit::perform(
      {.name = "softmax",
       .arrays = {{x, "x"}, {.buffer = y, .name = "y", .written = true, .needed = true}},
       .stream = options.stream,
       .adjoint = adjoint},
      [&](bool) { detail::launch_planned(planned, {{&x}, {&y}}, where, options.stream); }, where);
}

}  // namespace samite::ops
