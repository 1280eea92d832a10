#include "samite/ops/grouped_by_type.h"

#include "samite/base/error.h"
#include "samite/lang/traced_once.h"
#include "samite/ops/grouped_terms.h"
#include "samite/ops/kernels.h"
#include "samite/ops/layer_epilogue.h"
#include "samite/ops/product_types.h"
#include "samite/ops/scaled_grouped_matmul.h"

#include <fmt/format.h>

#include <tuple>
#include <utility>
#include <vector>

namespace samite::ops {
namespace {

using Kernel = std::shared_ptr<jit::KernelDefinition>;

SAMITE_TRACED_ONCE_BEGIN

// A kernel of (factors…, offsets, bias, c); `sums` makes, from the factors, a function that computes the sums of each
// column part of a block's tile.
template <Scalar C, class... Factors>
struct GroupedLayer {
  template <class Sums>
  static Kernel made(const char *name, const LayerEpilogue &epilogue, const MatmulPlan &plan,
                     const detail::GroupSearch &search, const Sums &sums) {
    if (epilogue.bias) return with<Array<const C, 2>>(name, epilogue, plan, search, sums);
    return with<>(name, epilogue, plan, search, sums);
  }

 private:
  template <class... Bias, class Sums>
  static Kernel with(const char *name, const LayerEpilogue &epilogue, const MatmulPlan &plan,
                     const detail::GroupSearch &search, const Sums &sums) {
    const auto function = [&](const Factors &...factors, const detail::Offsets &offsets, const Bias &...bias,
                              const Array<C, 2> &c) {
      const SourceLocation where = std::source_location::current();
      const auto [i, j] = block_index<2>(where);
      if (search.checked) detail::check_offsets(name, offsets, i, j, c.extent(0), where);
      const RowsOfGroup tile = detail::rows_of_group(offsets, i, plan.rows, search, where);
      const std::vector parts = sums(tile, j, factors...);
      const int count = static_cast<int>(parts.size()), width = plan.columns / count;
      using S = typename decltype(parts[0]())::value_type;
      detail::with_rows_of_group(tile, plan.rows, [&](const RowsOfGroup &rows) {
        for (int part = 0; part < count; ++part) {
          const Int column = count == 1 ? Int(j) : Int(j * count + part);
          Tile<S> x = parts[static_cast<std::size_t>(part)]();
          [[maybe_unused]] const auto add = [&](const auto &array) {
            x = x + detail::as_type<S>(tile::load(array, {rows.group, column}, {1, width}, where));
          };
          (add(bias), ...);
          detail::store_rows_of_group(c, rows, Int(column * width),
                                      detail::as_type<C>(detail::activated(epilogue.activation, x)), where);
        }
      });
    };
    const auto kernel = [&](const Names &names) {
      return TileKernel<void(Factors..., detail::Offsets, Bias..., Array<C, 2>)>(name, names, function,
                                                                                 TileOptions{.threads = plan.threads})
          .definition();
    };
    const auto named = [&](auto... factors) {
      if constexpr (sizeof...(Bias) == 0)
        return kernel({factors..., "offsets", "c"});
      else
        return kernel({factors..., "offsets", "bias", "c"});
    };
    if constexpr (sizeof...(Factors) == 2)
      return named("a", "b");
    else
      return named("a", "b", "scale_a", "scale_b");
  }
};

SAMITE_TRACED_ONCE_END

template <Scalar T, Scalar C>
Kernel kernel(const GroupedByType &kind, const MatmulPlan &plan, const detail::GroupSearch &search) {
  using Key = std::tuple<MatmulPlan, detail::GroupSearch, Activation, bool, bool, bool>;
  static detail::Kernels<Key, Kernel> made([](const Key &key) {
    const auto &[plan, search, activation, bias, tb, tf32] = key;
    const MatmulOptions options{{.b = tb}, tf32 ? tile::Precision::tf32 : tile::Precision::full};
    using Left = Array<const T, 2>;
    using Right = Array<const T, 3>;
    return GroupedLayer<C, Left, Right>::made(
        "grouped_mm", {scalar_type_of<C>, activation, bias}, plan, search,
        [&](const RowsOfGroup &rows, const Int &column, const Left &a, const Right &b) {
          auto sum = detail::grouped_block_sums<T>(a, b, rows, column, options, plan, std::source_location::current());
          return std::vector{[sum = std::move(sum)] { return sum; }};
        });
  });
  return made.at({plan, search, kind.epilogue.activation, kind.epilogue.bias, kind.b_transposed,
                  kind.precision == tile::Precision::tf32});
}

template <Scalar A, Scalar B, Scalar C>
Kernel scaled_kernel(const ScaledGroupedByType &kind, const detail::ScaledGroupedPlan &plan) {
  using Key = std::tuple<detail::ScaledGroupedPlan, Activation, bool, bool>;
  static detail::Kernels<Key, Kernel> made([](const Key &key) {
    const auto &[plan, activation, bias, tb] = key;
    using Left = Array<const A, 2>;
    using Right = Array<const B, 3>;
    using ScalesOfLeft = Array<const float, 2>;
    using ScalesOfRight = Array<const float, 3>;
    return GroupedLayer<C, Left, Right, ScalesOfLeft, ScalesOfRight>::made(
        "scaled_grouped_mm", {scalar_type_of<C>, activation, bias}, plan.scaled.plan, plan.search,
        [&](const RowsOfGroup &rows, const Int &column, const Left &a, const Right &b, const ScalesOfLeft &scale_a,
            const ScalesOfRight &scale_b) {
          const auto applied = [&](const detail::ScaledGroupedSums &part) {
            return [part, scaled = plan.scaled] { return part.applied(scaled); };
          };
          std::vector<decltype(applied(std::declval<detail::ScaledGroupedSums>()))> parts;
          for (const auto &part : detail::scaled_grouped_block_sums<A, B>(a, b, scale_a, scale_b, rows, column, tb,
                                                                          plan.scaled, std::source_location::current()))
            parts.push_back(applied(part));
          return parts;
        });
  });
  return made.at({plan, kind.epilogue.activation, kind.epilogue.bias, kind.b_transposed});
}

}  // namespace

PlannedLaunch grouped_matmul_launch(const GroupedByType &kind, const GroupedShape &shape, const PlanDevice &device,
                                    SourceLocation where) {
  lang::check_precision(kind.precision == tile::Precision::tf32, kind.factor, where);
  const MatmulFactors factors{kind.factor, kind.precision, {.b = kind.b_transposed}};
  const MatmulPlan plan =
      kind.differentiated ? differentiated_grouped_plan(shape, factors, device) : grouped_plan(shape, factors, device);
  const auto search = detail::GroupSearch::of(shape.groups, kind.checked);
#define SAMITE_CASE(T, C)                                                            \
  if (kind.factor == scalar_type_of<T> && kind.epilogue.result == scalar_type_of<C>) \
    return {kernel<T, C>(kind, plan, search), grouped_blocks(shape, plan)};
  SAMITE_PRODUCTS_OF_FLOATS(SAMITE_CASE)
#undef SAMITE_CASE
  throw UserError(where, fmt::format("grouped_mm: expected factors of half or bfloat16 with results of their own type "
                                     "or float, of float or of double; factors of {} with results of {} given",
                                     cpp_name(kind.factor), cpp_name(kind.epilogue.result)));
}

void grouped_matmul(const AnyBuffer &a, const AnyBuffer &b, const AnyBuffer &offsets, const AnyBuffer &c,
                    const MatmulOptions &options, SourceLocation where) {
  const char *name = "grouped_matmul";
  refuse_transposed_rows(name, options.transposed, where);
  const GroupedShape shape = grouped_shape(name, {a, b, offsets, c, options.transposed.b}, where);
  detail::expect_type(name, b, "b", a.type(), where);
  const PlannedLaunch planned = grouped_matmul_launch({.factor = a.type(),
                                                       .epilogue = {.result = c.type()},
                                                       .b_transposed = options.transposed.b,
                                                       .precision = options.precision,
                                                       .checked = checks_offsets({}, a.device()),
                                                       .differentiated = is_differentiated({}, c)},
                                                      shape, plan_device(a.device()), where);
  detail::launch_planned(planned, {{&a}, {&b}, {&offsets}, {&c}}, where, options.stream);
}

void scaled_grouped_matmul(const AnyBuffer &a, const AnyBuffer &b, const AnyBuffer &scale_a, const AnyBuffer &scale_b,
                           const AnyBuffer &offsets, const AnyBuffer &c, const MatmulOptions &options,
                           SourceLocation where) {
  const char *name = "scaled_grouped_matmul";
  refuse_transposed_rows(name, options.transposed, where);
  lang::check_precision(options.precision == tile::Precision::tf32, a.type(), where);
  const GroupedShape shape = grouped_shape(name, {a, b, offsets, c, options.transposed.b}, where);
  const PlannedLaunch planned = scaled_grouped_matmul_launch(
      {.a = a.type(),
       .b = b.type(),
       .scales_of_a = scale_groups(name, "scale_a", scale_a, 0, shape.rows, shape.inner, where, TermsAre::columns),
       .scales_of_b =
           scale_groups(name, "scale_b", scale_b, shape.groups, shape.inner, shape.columns, where, TermsAre::rows),
       .epilogue = {.result = c.type()},
       .b_transposed = options.transposed.b,
       .checked = checks_offsets({}, a.device())},
      shape, plan_device(a.device()), where);
  detail::launch_planned(planned, {{&a}, {&b}, {&scale_a}, {&scale_b}, {&offsets}, {&c}}, where, options.stream);
}

void grouped_matmul_adjoint(const AnyBuffer &a, const AnyBuffer &b, const AnyBuffer &offsets,
                            const AnyBuffer &c_gradient, const AnyBuffer &a_gradient, const AnyBuffer &b_gradient,
                            const MatmulOptions &options, SourceLocation where) {
  const std::string name = "grouped_matmul_adjoint";
  const bool tb = options.transposed.b;
  refuse_transposed_rows(name, options.transposed, where);
  const GroupedShape shape = grouped_shape(name, {a, b, offsets, c_gradient, tb}, where);
  const auto expect = [&](const AnyBuffer &buffer, const char *what, const AnyBuffer &as, const char *other) {
    if (buffer.valid() && buffer.type() == a.type() && buffer.device() == a.device() &&
        buffer.extents() == as.extents())
      return;
    throw UserError(where, fmt::format("{}: expected {} of {} with extents {} on {}, as {} is; {} given", name, what,
                                       cpp_name(a.type()), as.extents().to_string(), a.device().to_string(), other,
                                       buffer.valid() ? buffer.to_string() : "an empty buffer"));
  };
  expect(b, "b", b, "a");
  expect(c_gradient, "c_gradient", c_gradient, "a");
  expect(a_gradient, "a_gradient", a, "a");
  expect(b_gradient, "b_gradient", b, "b");
  const PlanDevice device = plan_device(a.device());
  const bool checked = checks_offsets({}, a.device());
  const PlannedLaunch of_a =
      grouped_matmul_launch({a.type(), {a.type()}, !tb, options.precision, checked},
                            {shape.groups, shape.rows, shape.inner, shape.columns}, device, where);
  detail::launch_planned(of_a, {{&c_gradient}, {&b}, {&offsets}, {&a_gradient}}, where, options.stream);
  // If b is transposed, so is its gradient, whose factors are swapped.
  const auto [left, right] = tb ? std::pair(&c_gradient, &a) : std::pair(&a, &c_gradient);
  const PlannedLaunch of_b = grouped_terms_launch(
      {a.type(), a.type(), {.a = true}, options.precision, checked},
      {shape.groups, tb ? shape.columns : shape.inner, tb ? shape.inner : shape.columns, shape.rows}, device, where);
  detail::launch_planned(of_b, {{left}, {right}, {&offsets}, {&b_gradient}}, where, options.stream);
}

PlannedLaunch scaled_grouped_matmul_launch(const ScaledGroupedByType &kind, const GroupedShape &shape,
                                           const PlanDevice &device, SourceLocation where) {
  const detail::ScaledGroupedPlan plan{
      detail::scaled_grouped_plan("scaled_grouped_mm", shape, {.type = kind.a, .transposed = {.b = kind.b_transposed}},
                                  kind.scales_of_a, kind.scales_of_b, device, where),
      detail::GroupSearch::of(shape.groups, kind.checked)};
#define SAMITE_RESULT(A, B, C)                                                                                 \
  if (kind.a == scalar_type_of<A> && kind.b == scalar_type_of<B> && kind.epilogue.result == scalar_type_of<C>) \
    return {scaled_kernel<A, B, C>(kind, plan), grouped_blocks(shape, plan.scaled.plan)};
#define SAMITE_CASE(A, B)       \
  SAMITE_RESULT(A, B, bfloat16) \
  SAMITE_RESULT(A, B, float)
  SAMITE_FACTORS_OF_8_BITS(SAMITE_CASE)
  SAMITE_RESULT(f8e4m3, f8e4m3, half)
#undef SAMITE_CASE
#undef SAMITE_RESULT
  throw UserError(where, fmt::format("scaled_grouped_mm: expected factors of f8e4m3, of which one may be f8e5m2, with "
                                     "results of float or bfloat16, or of half where both are f8e4m3; factors of {} "
                                     "and {} with results of {} given",
                                     cpp_name(kind.a), cpp_name(kind.b), cpp_name(kind.epilogue.result)));
}

}  // namespace samite::ops
