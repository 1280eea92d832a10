#include "samite/ops/layer_norm.h"

#include "samite/base/error.h"
#include "samite/ops/kernels.h"
#include "samite/ops/rows.h"

#include <fmt/format.h>

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

}  // namespace

PlannedLaunch layer_norm_launch(ScalarType type, bool weighted, std::int64_t rows, std::int64_t columns,
                                const PlanDevice &device, SourceLocation where) {
  const RowPlan plan = detail::row_plan(columns, device, longest_on_cpu(type));
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
