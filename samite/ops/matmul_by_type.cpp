#include "samite/ops/matmul_by_type.h"

#include "samite/base/error.h"
#include "samite/ops/kernels.h"
#include "samite/ops/layer_epilogue.h"
#include "samite/ops/matmul.h"
#include "samite/ops/product_types.h"

#include <fmt/format.h>

#include <iterator>
#include <tuple>
#include <vector>

namespace samite::ops {
namespace {

constexpr std::string_view activation_names[] = {"none", "relu", "silu", "gelu", "tanh", "sigmoid"};

// Distinguishes kernels of two given types.
using Key = std::tuple<MatmulPlan, Activation, bool, bool, bool, bool, bool>;

template <int Rank, Scalar T, Scalar C>
std::shared_ptr<jit::KernelDefinition> kernel(const MatmulByType &kind, const MatmulPlan &plan) {
  using Kernel = std::shared_ptr<jit::KernelDefinition>;
  static detail::Kernels<Key, Kernel> made(
      [](const Key &key) {
        const auto &[plan, activation, bias, residual, ta, tb, tf32] = key;
        const MatmulOptions options{{ta, tb}, tf32 ? tile::Precision::tf32 : tile::Precision::full};
        using Factor = Array<const T, Rank>;
        return detail::LayerKernel<Rank, C, Factor, Factor>::made(
            "matmul", {scalar_type_of<C>, activation, bias, residual}, plan,
            [&](const std::array<Int, Rank> &block, const Factor &a, const Factor &b) {
              return std::vector{
                  detail::block_sums<Rank, T>(a, b, block, options, plan, std::source_location::current())};
            });
      },
      detail::first_arrays(2));
  const LayerEpilogue &e = kind.epilogue;
  return made.at({plan, e.activation, e.bias, e.residual, kind.transposed.a, kind.transposed.b,
                  kind.precision == tile::Precision::tf32});
}

void check_epilogue(const char *name, const LayerEpilogue &epilogue, SourceLocation where) {
  if (epilogue.activation != Activation::none && !is_floating(epilogue.result))
    throw UserError(
        where, fmt::format("{}: {} is for floating results; {} given", name,
                           activation_names[static_cast<std::size_t>(epilogue.activation)], cpp_name(epilogue.result)));
}

}  // namespace

std::optional<Activation> activation_named(std::string_view name) {
  for (std::size_t i = 0; i < std::size(activation_names); ++i)
    if (activation_names[i] == name) return static_cast<Activation>(i);
  return std::nullopt;
}

PlannedLaunch matmul_launch(const MatmulByType &kind, const MatmulShape &shape, const PlanDevice &device,
                            SourceLocation where) {
  check_epilogue("matmul", kind.epilogue, where);
  lang::check_precision(kind.precision == tile::Precision::tf32, kind.factor, where);
  const LayerEpilogue &e = kind.epilogue;
  const MatmulFactors factors{.type = kind.factor,
                              .precision = kind.precision,
                              .transposed = kind.transposed,
                              .differentiated = kind.differentiated || (is_floating(kind.factor) &&
                                                                        (e.activation != Activation::none || e.bias)),
                              .copied_where_that_pays = kind.copied_where_that_pays};
  const MatmulPlan plan = matmul_plan(shape, factors, device);
  const Extents blocks = matmul_blocks(shape, plan, kind.in_batches);
#define SAMITE_CASE(T, C)                                                            \
  if (kind.factor == scalar_type_of<T> && kind.epilogue.result == scalar_type_of<C>) \
    return {kind.in_batches ? kernel<3, T, C>(kind, plan) : kernel<2, T, C>(kind, plan), blocks};
  SAMITE_PRODUCTS_OF_FLOATS(SAMITE_CASE)
  SAMITE_PRODUCTS_OF_INTEGERS(SAMITE_CASE)
#undef SAMITE_CASE
  throw UserError(where,
                  fmt::format("matmul: expected factors of half or bfloat16 with results of their own type or "
                              "float, of float, of double, or of int8 or uint8 with results of int32; factors of "
                              "{} with results of {} given",
                              cpp_name(kind.factor), cpp_name(kind.epilogue.result)));
}

void matmul(const AnyBuffer &a, const AnyBuffer &b, const AnyBuffer &c, const MatmulOptions &options,
            SourceLocation where) {
  const MatmulShape shape = matmul_shape("matmul", {a, b, c, options.transposed}, where);
  detail::expect_type("matmul", b, "b", a.type(), where);
  const PlannedLaunch planned =
      matmul_launch({.factor = a.type(),
                     .epilogue = {.result = c.type()},
                     .transposed = options.transposed,
                     .precision = options.precision,
                     .in_batches = a.rank() == 3,
                     .differentiated = a.tracks_gradient() || b.tracks_gradient() || c.tracks_gradient(),
                     .copied_where_that_pays = true},
                    shape, plan_device(a.device()), where);
  detail::launch_planned(planned, {{&a}, {&b}, {&c}}, where, options.stream);
}

}  // namespace samite::ops
