#include "samite/ops/integer_weights.h"

#include "samite/base/error.h"
#include "samite/lang/tile_functions.h"
#include "samite/lang/tile_memory.h"
#include "samite/lang/tile_shape.h"
#include "samite/lang/traced_once.h"
#include "samite/ops/kernels.h"
#include "samite/ops/layer_epilogue.h"
#include "samite/ops/matmul_plan.h"
#include "samite/ops/operand_check.h"
#include "samite/ops/rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace samite::ops {
namespace {

struct WeightPlan {
  int rows = 0, columns = 0, inner = 0, threads = 0, stages = 1;  // of a tile, and of a block
  int tiles_of_group = 0;  // along the inner dimension; 0: there is one group of any length
  bool zeros = false, bias = false;
  Activation activation = Activation::none;

  friend bool operator==(const WeightPlan &, const WeightPlan &) = default;
};

SAMITE_TRACED_ONCE_BEGIN

// Bytes of 8-bit weights are signed, those of pairs of 4-bit ones are not.
template <Scalar T, Scalar Byte>
struct WeightKernels {
  using S = detail::RowNumber<T>;
  using In = Array<const T, 2>;
  using Weights = Array<const Byte, 2>;
  using Numbers = Array<const S, 2>;
  using Bias = Array<const T, 1>;
  using Plan = WeightPlan;
  using Product = TileKernel<void(In, Weights, Numbers, Numbers, Bias, Array<T, 2>)>;
  using Quantisation = TileKernel<void(In, Array<Byte, 2>, Array<S, 2>)>;
  static constexpr bool four_bits = std::same_as<Byte, std::uint8_t>;

  static Tile<S> integers_at(const Weights &weights, const Int &column, const Int &k, const Plan &plan) {
    if constexpr (four_bits) {
      const Tile<std::int32_t> pairs =
          tile::cast<std::int32_t>(tile::load(weights, {column, k}, {plan.columns, plan.inner / 2}));
      return tile::cast<S>(tile::reshape(tile::stack(pairs & 15, pairs >> 4, -1), {plan.columns, plan.inner}));
    } else {
      return tile::cast<S>(tile::load(weights, {column, k}, {plan.columns, plan.inner}));
    }
  }

  static Product product(const Plan &plan) {
    return {"integer_weight_mm",
            {"a", "weights", "scales", "zeros", "bias", "c"},
            [=](In a, Weights weights, Numbers scales, Numbers zeros, Bias bias, Array<T, 2> c) {
              auto [i, j] = block_index<2>();
              const auto number_of = [&](const Numbers &numbers, const Int &k) {
                const Int group = plan.tiles_of_group ? k / plan.tiles_of_group : Int(0);
                return tile::load_at(numbers, {j * plan.columns, group}, {plan.columns, 1});
              };
              const auto scale_of = [&](const Int &k) {
                return tile::reshape(number_of(scales, k), {1, plan.columns});
              };
              Tile<S> sum = tile::zeros<S>({plan.rows, plan.columns});
              for (Int k : range(tile::ceil_div(a.extent(1), plan.inner), pipelined(plan.stages))) {
                const Tile<T> left = tile::load(a, {i, k}, {plan.rows, plan.inner});
                Tile<S> right = integers_at(weights, j, k, plan);
                if (plan.zeros)
                  right = right - number_of(zeros, k);
                else if (four_bits)
                  right = right - S(8);
                if (plan.tiles_of_group == 0)
                  tile::matmul(left, detail::as_type<T>(right), sum, {.b = true});
                else
                  sum += tile::matmul(left, detail::as_type<T>(right), tile::Transposes{.b = true}) * scale_of(k);
              }
              if (plan.tiles_of_group == 0) sum = sum * scale_of(0);
              if (plan.bias)
                sum = sum + tile::reshape(detail::as_type<S>(tile::load(bias, {j}, {plan.columns})), {1, plan.columns});
              tile::store(c, {i, j}, detail::as_type<T>(detail::activated(plan.activation, sum)));
            },
            TileOptions{.threads = plan.threads}};
  }

  // A block has a group of some columns.
  static Quantisation quantisation(const Plan &plan) {
    return {
        "quantise_weights",
        {"w", "weights", "scales"},
        [=](In w, Array<Byte, 2> weights, Array<S, 2> scales) {
          auto [j, group] = block_index<2>();
          const Int tiles = plan.tiles_of_group ? Int(plan.tiles_of_group) : tile::ceil_div(w.extent(1), plan.inner);
          const Int first = group * tiles;
          Tile<S> largest = tile::zeros<S>({plan.columns, 1});
          for (Int k : range(first, first + tiles))
            largest = max(largest,
                          tile::max(abs(detail::as_type<S>(tile::load(w, {j, k}, {plan.columns, plan.inner}))), {1}));
          const Tile<S> scale = select(largest > S(0), largest / S(four_bits ? 7 : 127), S(1));
          tile::store_at(scales, {j * plan.columns, group}, scale);
          for (Int k : range(first, first + tiles)) {
            const auto rounded = [&](const Tile<T> &values) {
              return tile::cast<std::int32_t>(round(detail::as_type<S>(values) / scale));
            };
            if constexpr (four_bits) {
              const auto every_other = [&](int start) {
                return rounded(tile::load_view(w, {j * plan.columns, k * plan.inner + start},
                                               {plan.columns, plan.inner / 2}, {.steps = {1, 2}})) +
                       8;
              };
              tile::store(weights, {j, k}, tile::cast<Byte>(every_other(0) | (every_other(1) << 4)));
            } else {
              tile::store(weights, {j, k},
                          tile::cast<Byte>(rounded(tile::load(w, {j, k}, {plan.columns, plan.inner}))));
            }
          }
        },
        TileOptions{.threads = plan.threads}};
  }
};

SAMITE_TRACED_ONCE_END

template <Scalar T, Scalar Byte>
struct Made {
  using Of = WeightKernels<T, Byte>;
  detail::Kernels<WeightPlan, typename Of::Product> product{Of::product};
  detail::Kernels<WeightPlan, typename Of::Quantisation> quantisation{Of::quantisation};

  static Made &all() {
    static Made all;
    return all;
  }
};

WeightPlan plan_of(const IntegerWeightKind &kind, const IntegerWeightShape &shape, const PlanDevice &device) {
  WeightPlan plan{
      .columns = 64, .inner = 64, .stages = 2, .zeros = kind.zeros, .bias = kind.bias, .activation = kind.activation};
  plan.rows = shape.rows > 16 ? 64 : 16;
  if (device.is_cpu()) plan.rows = shape.rows > 16 ? 64 : shape.rows > 4 ? 16 : shape.rows > 1 ? 4 : 1;
  plan.threads = device.is_cpu() ? 32 : 128;
  if (shape.groups == 1) return plan;
  // A tile of terms has numbers of one group.
  const std::int64_t group = shape.inner / shape.groups;
  while (group % plan.inner != 0) plan.inner /= 2;
  plan.tiles_of_group = static_cast<int>(group / plan.inner);
  return plan;
}

class Check : public detail::OperandCheck {
 public:
  // `matrix` is (…, inner), of the type of all.
  Check(const char *name, const AnyBuffer &matrix, const char *name_of_matrix, const char *extents,
        const AnyBuffer &weights, const AnyBuffer &scales, SourceLocation where)
      : OperandCheck(name, matrix, name_of_matrix, where) {
    for (const auto &[buffer, expected] : {std::pair{&matrix, fmt::format("{} of {}", name_of_matrix, extents)},
                                           {&weights, "weights of (columns, inner), or half of that in 4 bits"},
                                           {&scales, "scales of (columns, groups)"}})
      if (!buffer->valid() || buffer->rank() != 2)
        fail(fmt::format("expected {}; {} given", expected, detail::text_of(*buffer)));
    if (weights.type() != ScalarType::Int8 && weights.type() != ScalarType::UInt8)
      fail(
          fmt::format("expected weights of int8, or of uint8 for pairs of 4 bits; {} given", detail::text_of(weights)));
    bits = weights.type() == ScalarType::Int8 ? 8 : 4;
    shape = {0, weights.extents()[0], matrix.extents()[1], scales.extents()[1]};
    if (bits == 4 && shape.inner % 2 != 0)
      fail(fmt::format("expected an even number of terms for pairs of 4 bits; {} given", shape.inner));
    if (shape.groups < 1 || shape.inner % shape.groups != 0 ||
        (shape.groups > 1 && shape.inner / shape.groups % 16 != 0))
      fail(
          fmt::format("expected scales for one group, or for groups of a multiple of 16 terms; {} terms in {} groups "
                      "given",
                      shape.inner, shape.groups));
    expect(weights, "weights", {shape.columns, bits == 4 ? shape.inner / 2 : shape.inner}, weights.type());
    expect(scales, "scales", {shape.columns, shape.groups}, detail::row_number_type(matrix.type()));
  }

  int bits = 8;
  IntegerWeightShape shape{};
};

}  // namespace

IntegerWeightLaunches integer_weight_launches(const IntegerWeightKind &kind, const IntegerWeightShape &shape,
                                              const PlanDevice &device, SourceLocation where) {
  const WeightPlan plan = plan_of(kind, shape, device);
  WeightPlan of_weights{.rows = 0, .columns = 8, .inner = plan.inner, .threads = plan.threads};
  of_weights.tiles_of_group = plan.tiles_of_group;
  const auto launches = [&](auto &made) -> IntegerWeightLaunches {
    return {{made.product.at(plan).definition(),
             {detail::ceil_div(shape.rows, plan.rows), detail::ceil_div(shape.columns, plan.columns)}},
            {made.quantisation.at(of_weights).definition(),
             {detail::ceil_div(shape.columns, of_weights.columns), shape.groups}}};
  };
  switch (kind.type) {
#define SAMITE_CASE(T)    \
  case scalar_type_of<T>: \
    return kind.bits == 4 ? launches(Made<T, std::uint8_t>::all()) : launches(Made<T, std::int8_t>::all());
    SAMITE_ROW_TYPES(SAMITE_CASE)
#undef SAMITE_CASE
    default: detail::refuse_row_type("integer_weight_matmul", kind.type, where);
  }
}

void integer_weight_matmul(const AnyBuffer &a, const AnyBuffer &weights, const AnyBuffer &scales, const AnyBuffer &c,
                           const IntegerWeightOptions &options, SourceLocation where) {
  Check check("integer_weight_matmul", a, "a", "(rows, inner)", weights, scales, where);
  check.shape.rows = a.extents()[0];
  check.expect(c, "c", {check.shape.rows, check.shape.columns}, a.type());
  if (options.zeros.valid()) check.expect(options.zeros, "zeros", scales.extents(), scales.type());
  if (options.bias.valid()) check.expect(options.bias, "a bias", {check.shape.columns}, a.type());
  const IntegerWeightLaunches planned =
      integer_weight_launches({a.type(), check.bits, options.zeros.valid(), options.bias.valid(), options.activation},
                              check.shape, plan_device(a.device()), where);
  const AnyBuffer zeros = options.zeros.valid() ? options.zeros : AnyBuffer(a.device(), scales.type(), {1, 1}),
                  bias = options.bias.valid() ? options.bias : AnyBuffer(a.device(), a.type(), {1});
  detail::launch_planned(planned.product, {{&a}, {&weights}, {&scales}, {&zeros}, {&bias}, {&c}}, where,
                         options.stream);
}

void quantise_weights(const AnyBuffer &w, const AnyBuffer &weights, const AnyBuffer &scales,
                      const std::optional<Stream> &stream, SourceLocation where) {
  Check check("quantise_weights", w, "w", "(columns, inner)", weights, scales, where);
  check.expect(w, "w", {check.shape.columns, check.shape.inner}, w.type());
  const IntegerWeightLaunches planned =
      integer_weight_launches({w.type(), check.bits}, check.shape, plan_device(w.device()), where);
  detail::launch_planned(planned.quantisation, {{&w}, {&weights}, {&scales}}, where, stream);
}

}  // namespace samite::ops
