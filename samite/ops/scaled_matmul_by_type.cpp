#include "samite/base/error.h"
#include "samite/ops/kernels.h"
#include "samite/ops/layer_epilogue.h"
#include "samite/ops/matmul_by_type.h"
#include "samite/ops/product_types.h"
#include "samite/ops/scaled_matmul.h"

#include <fmt/format.h>

#include <tuple>

namespace samite::ops {
namespace {

using ScaledKey = std::tuple<detail::ScaledPlan, Activation, bool, bool, bool, bool>;

template <int Rank, Scalar A, Scalar B, Scalar C>
std::shared_ptr<jit::KernelDefinition> scaled_kernel(const ScaledMatmulByType &kind, const detail::ScaledPlan &plan) {
  using Kernel = std::shared_ptr<jit::KernelDefinition>;
  static detail::Kernels<ScaledKey, Kernel> made(
      [](const ScaledKey &key) {
        const auto &[plan, activation, bias, residual, ta, tb] = key;
        const tile::Transposes transposed{ta, tb};
        using Left = Array<const A, Rank>;
        using Right = Array<const B, Rank>;
        using Scales = Array<const float, Rank>;
        return detail::LayerKernel<Rank, C, Left, Right, Scales, Scales>::made(
            "scaled_mm", {scalar_type_of<C>, activation, bias, residual}, plan.plan,
            [&](const std::array<Int, Rank> &block, const Left &a, const Right &b, const Scales &scale_a,
                const Scales &scale_b) {
              return detail::scaled_block_sums<Rank, A, B>(a, b, scale_a, scale_b, block, transposed, plan,
                                                           std::source_location::current());
            });
      },
      detail::first_arrays(4));
  const LayerEpilogue &e = kind.epilogue;
  return made.at({plan, e.activation, e.bias, e.residual, kind.transposed.a, kind.transposed.b});
}

}  // namespace

PlannedLaunch scaled_matmul_launch(const ScaledMatmulByType &kind, const MatmulShape &shape, const PlanDevice &device,
                                   SourceLocation where) {
  const detail::ScaledPlan plan = detail::scaled_plan(
      "scaled_mm", shape, {.type = kind.a, .transposed = kind.transposed, .differentiated = kind.differentiated},
      kind.scales_of_a, kind.scales_of_b, kind.scales, device, where);
  const Extents blocks = matmul_blocks(shape, plan.plan, kind.in_batches);
#define SAMITE_RESULT(A, B, C)                                                                                 \
  if (kind.a == scalar_type_of<A> && kind.b == scalar_type_of<B> && kind.epilogue.result == scalar_type_of<C>) \
    return {kind.in_batches ? scaled_kernel<3, A, B, C>(kind, plan) : scaled_kernel<2, A, B, C>(kind, plan),   \
            blocks,                                                                                            \
            {plan.beside.a_transposed, plan.beside.b_transposed}};
#define SAMITE_CASE(A, B)    \
  SAMITE_RESULT(A, B, float) \
  SAMITE_RESULT(A, B, half)  \
  SAMITE_RESULT(A, B, bfloat16)
  SAMITE_FACTORS_OF_8_BITS(SAMITE_CASE)
#undef SAMITE_CASE
#undef SAMITE_RESULT
  throw UserError(where,
                  fmt::format("scaled_mm: expected factors of f8e4m3, of which one may be f8e5m2, with results "
                              "of float, half or bfloat16; factors of {} and {} with results of {} given. Of two "
                              "factors of f8e5m2 a product would have two digits: quantise one to f8e4m3",
                              cpp_name(kind.a), cpp_name(kind.b), cpp_name(kind.epilogue.result)));
}

void scaled_matmul(const AnyBuffer &a, const AnyBuffer &b, const AnyBuffer &scale_a, const AnyBuffer &scale_b,
                   const AnyBuffer &c, const MatmulOptions &options, SourceLocation where) {
  const char *name = "scaled_matmul";
  const MatmulShape shape = matmul_shape(name, {a, b, c, options.transposed}, where);
  const bool in_batches = a.rank() == 3;
  const std::int64_t count = in_batches ? shape.batches : 0;
  lang::check_precision(options.precision == tile::Precision::tf32, a.type(), where);
  const ScaleGroups of_a =
      scale_groups(name, "scale_a", scale_a, count, shape.rows, shape.inner, where, TermsAre::columns);
  const ScaleGroups of_b =
      scale_groups(name, "scale_b", scale_b, count, shape.inner, shape.columns, where, TermsAre::rows);
  const PlannedLaunch planned = scaled_matmul_launch(
      {.a = a.type(),
       .b = b.type(),
       .scales_of_a = of_a,
       .scales_of_b = of_b,
       .epilogue = {.result = c.type()},
       .transposed = options.transposed,
       .in_batches = in_batches,
       .scales = scales_lie(scale_a, scale_b),
       .differentiated = scale_a.tracks_gradient() || scale_b.tracks_gradient() || c.tracks_gradient()},
      shape, plan_device(a.device()), where);
  const auto as_read = [&](const AnyBuffer &scales, bool exchanged) {
    if (!exchanged) return scales;
    return in_batches ? scales.permute({0, 2, 1}) : scales.permute({1, 0});
  };
  const AnyBuffer read_a = as_read(scale_a, planned.exchanged_scales[0]),
                  read_b = as_read(scale_b, planned.exchanged_scales[1]);
  detail::launch_planned(planned, {{&a}, {&b}, {&read_a}, {&read_b}, {&c}}, where, options.stream);
}

}  // namespace samite::ops
