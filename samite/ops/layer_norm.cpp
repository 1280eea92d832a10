#include "samite/ops/layer_norm.h"

#include "samite/base/error.h"
#include "samite/lang/traced_once.h"
#include "samite/ops/kernels.h"
#include "samite/ops/matmul_plan.h"
#include "samite/ops/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace samite::ops {
namespace {

using detail::RowPlan;

// 16-bit numbers are converted at each read.
std::int64_t longest_on_cpu(ScalarType type) { return size_of(type) == 2 ? 8192 : 2048; }

SAMITE_TRACED_ONCE_BEGIN

// The centred rows of tile i, and their variance.
//
// Each row is shifted by its first element before its mean is computed, so that the rounding error for a row far from
// zero depends on the differences of its elements, not on their magnitude. The remaining mean of a row in parts is
// subtracted along with its squares (Chan, Golub, LeVeque, Algorithms for computing the sample variance, 1983).
template <Scalar T>
class CentredRows {
 public:
  using S = detail::RowNumber<T>;

  // `columns` is x's second extent, but read from another array: a mask shared by two loops would take memory.
  CentredRows(const Array<const T, 2> &x, const Int &i, const Int &columns, const RowPlan &plan)
      : x_(x),
        i_(i),
        columns_(columns),
        plan_(plan),
        share_(S(1) / cast<Traced<S>>(x.extent(1))),
        first_(stop_gradient(first_elements())),
        row_(plan.in_parts ? zeros() : whole_row()),
        mean_(zeros()),
        variance_(plan.in_parts ? zeros() : Tile<S>(tile::sum(row_ * row_, {1}) * share_)) {
    if (plan.in_parts) go_over_parts();
  }

  // Zero beyond the end of the rows. Rows that fit one tile have only part 0.
  Tile<S> part(const Int &k) const { return plan_.in_parts ? inside(x_.extent(1), k, shifted(k) - mean_) : row_; }
  const Tile<S> &variance() const { return variance_; }

 private:
  Tile<S> zeros() const { return tile::zeros<S>({plan_.rows, 1}); }
  Tile<S> inside(const Int &columns, const Int &k, const Tile<S> &part) const {
    return select(detail::inside_rows(columns, k, plan_), part, S(0));
  }
  // Loaded where needed: as a separate tile, all threads would wait for them before they load their rows.
  Tile<S> first_elements() const {
    if (plan_.rows == 1) return tile::full<S>({1, 1}, cast<Traced<S>>(x_(min(i_, x_.extent(0) - 1), 0)));
    return detail::as_type<S>(
        tile::load_view(x_, {i_ * plan_.rows, 0}, {plan_.rows, plan_.columns}, {.steps = {1, 0}}));
  }
  Tile<S> shifted(const Int &k) const { return detail::load_rows<T>(x_, i_, k, plan_) - first_; }
  Tile<S> whole_row() const {
    const Tile<S> row = inside(x_.extent(1), 0, shifted(0));
    return inside(columns_, 0, row - tile::sum(row, {1}) * share_);
  }
  void go_over_parts() {
    const Int parts = tile::ceil_div(x_.extent(1), plan_.columns);
    for (Int k : range(parts)) mean_ += tile::sum(inside(x_.extent(1), k, shifted(k)), {1});
    mean_ = stop_gradient(mean_ * share_);
    Tile<S> sum = zeros(), squares = zeros();
    for (Int k : range(parts)) {
      const Tile<S> part = inside(x_.extent(1), k, shifted(k) - mean_);
      sum += tile::sum(part, {1});
      squares += tile::sum(part * part, {1});
    }
    const Tile<S> left = sum * share_, variance = squares * share_ - left * left;
    variance_ = select(variance < S(0), S(0), variance);  // a NaN stays one
    mean_ += left;
  }

  Array<const T, 2> x_;
  Int i_, columns_;
  RowPlan plan_;
  Traced<S> share_;
  Tile<S> first_, row_, mean_, variance_;
};

// Stores finish(normalised part k, k) for each part of the rows.
template <Scalar T, class Finish>
void normalise(const Array<const T, 2> &x, const Array<T, 2> &y, const Traced<detail::RowNumber<T>> &epsilon,
               const RowPlan &plan, const Finish &finish) {
  using S = detail::RowNumber<T>;
  const Int i = block_index();
  const CentredRows<T> rows(x, i, y.extent(1), plan);
  const Tile<S> inverse = rsqrt(rows.variance() + epsilon);
  if (!plan.in_parts) {
    detail::store_rows<T>(y, i, 0, finish(rows.part(0) * inverse, Int(0)));
    return;
  }
  for (Int k : range(tile::ceil_div(x.extent(1), plan.columns)))
    detail::store_rows<T>(y, i, k, finish(rows.part(k) * inverse, k));
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

SAMITE_TRACED_ONCE_END

template <Scalar T>
std::shared_ptr<jit::KernelDefinition> layer_norm_kernel(const RowPlan &plan, bool weighted) {
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
using Adjoint =
    TileKernel<void(Array<const T, 2>, Array<const detail::RowNumber<T>, 1>, Array<const T, 2>, Array<T, 2>,
                    Array<detail::RowNumber<T>, 1>, Array<detail::RowNumber<T>, 1>, Traced<detail::RowNumber<T>>)>;

SAMITE_TRACED_ONCE_BEGIN

// The gradients of rows, with n = (x - mean) / sqrt(variance + epsilon), g the cotangent of y, and w g its product with
// the weight:
//
//   x_gradient = (w g - mean(w g) - n mean(w g n)) / sqrt(variance + epsilon)
template <Scalar T>
class RowGradients {
 public:
  using S = detail::RowNumber<T>;

  // `columns` as for CentredRows.
  RowGradients(const Array<const T, 2> &x, const Array<const T, 2> &y_gradient, const Int &columns,
               const Traced<S> &epsilon, const RowPlan &plan)
      : x_(x),
        y_gradient_(y_gradient),
        columns_(columns),
        epsilon_(epsilon),
        plan_(plan),
        share_(S(1) / cast<Traced<S>>(x.extent(1))),
        parts_(plan.in_parts ? tile::ceil_div(x.extent(1), plan.columns) : Int(1)) {}

  // For the rows of tile i: calls each(k, n, g, x_gradient) for each part. `weighted(g, k)` is w g.
  template <class Weighted, class Each>
  void of_tile(const Int &i, const Weighted &weighted, const Each &each) const {
    const CentredRows<T> rows(x_, i, columns_, plan_);
    const auto of_y = [&](const Int &k) { return detail::load_rows<T>(y_gradient_, i, k, plan_); };
    // The variance of a row beyond the last one is 0, and epsilon may be 0, too.
    const Tile<S> inverse = select(tile::coordinate({plan_.rows, 1}, 0) + i * plan_.rows < x_.extent(0),
                                   rsqrt(rows.variance() + epsilon_), S(0));
    const auto gradient = [&](const Tile<S> &cotangent, const Tile<S> &n, const Tile<S> &all, const Tile<S> &along) {
      return Tile<S>((cotangent - all * share_ - n * (along * share_)) * inverse);
    };
    if (!plan_.in_parts) {
      const Tile<S> n = rows.part(0) * inverse, g = of_y(0), cotangent = weighted(g, Int(0));
      each(Int(0), n, g, gradient(cotangent, n, tile::sum(cotangent, {1}), tile::sum(cotangent * n, {1})));
      return;
    }
    const auto cotangent = [&](const Int &k) { return Tile<S>(weighted(of_y(k), k)); };
    const Tile<S> all = over_parts(cotangent);
    const Tile<S> along = over_parts([&](const Int &k) { return Tile<S>(cotangent(k) * (rows.part(k) * inverse)); });
    for (Int k : range(parts_)) {
      const Tile<S> n = rows.part(k) * inverse;
      each(k, n, of_y(k), gradient(cotangent(k), n, all, along));
    }
  }

 private:
  // The sum of function(k) over the parts of a row.
  template <class Function>
  Tile<S> over_parts(const Function &function) const {
    Tile<S> sum = tile::zeros<S>({plan_.rows, 1});
    for (Int k : range(parts_)) sum += tile::sum(function(k), {1});
    return sum;
  }

  Array<const T, 2> x_, y_gradient_;
  Int columns_;
  Traced<S> epsilon_;
  RowPlan plan_;
  Traced<S> share_;
  Int parts_;
};

// The gradients of the weight and the bias are sums of g n and of g over all rows.
template <Scalar T>
Adjoint<T> adjoint_of(const AdjointPlan &adjoint) {
  using S = detail::RowNumber<T>;
  const RowPlan plan = adjoint.part;
  return {"layer_norm_adjoint",
          {"x", "weight", "y_gradient", "x_gradient", "weight_gradient", "bias_gradient", "epsilon"},
          [=](Array<const T, 2> x, Array<const S, 1> weight, Array<const T, 2> y_gradient, Array<T, 2> x_gradient,
              Array<S, 1> weight_gradient, Array<S, 1> bias_gradient, const Traced<S> &epsilon) {
            const auto weighted = [&](const Tile<S> &g, const Int &k) {
              return Tile<S>(g * tile::reshape(tile::load(weight, {k}, {plan.columns}), {1, plan.columns}));
            };
            const auto add_rows = [&](const Array<S, 1> &sums, const Int &k, const Tile<S> &rows) {
              const Tile<S> sum = plan.rows == 1 ? rows : Tile<S>(tile::sum(rows, {0}));
              tile::atomic_add(sums, {k}, tile::reshape(sum, {plan.columns}));
            };
            const RowGradients<T> gradients(x, y_gradient, x_gradient.extent(1), epsilon, plan);
            const Int first = block_index() * adjoint.tiles;
            if (adjoint.tiles == 1 || plan.in_parts) {
              for (Int tile : range(adjoint.tiles))
                gradients.of_tile(first + tile, weighted,
                                  [&](const Int &k, const Tile<S> &n, const Tile<S> &g, const Tile<S> &of_x) {
                                    detail::put_rows<T>(x_gradient, first + tile, k, of_x, plan, adjoint.add_gradients);
                                    add_rows(weight_gradient, k, g * n);
                                    add_rows(bias_gradient, k, g);
                                  });
              return;
            }
            Tile<S> of_weight = tile::zeros<S>({plan.rows, plan.columns});
            Tile<S> of_bias = tile::zeros<S>({plan.rows, plan.columns});
            for (Int tile : range(adjoint.tiles))
              gradients.of_tile(first + tile, weighted,
                                [&](const Int &k, const Tile<S> &n, const Tile<S> &g, const Tile<S> &of_x) {
                                  detail::put_rows<T>(x_gradient, first + tile, k, of_x, plan, adjoint.add_gradients);
                                  of_weight += g * n;
                                  of_bias += g;
                                });
            add_rows(weight_gradient, 0, of_weight);
            add_rows(bias_gradient, 0, of_bias);
          },
          TileOptions{.threads = plan.threads}};
}

template <Scalar T>
using PlainAdjoint = TileKernel<void(Array<const T, 2>, Array<const T, 2>, Array<T, 2>, Traced<detail::RowNumber<T>>)>;

// Without a weight, each block has one tile of rows.
template <Scalar T>
PlainAdjoint<T> plain_adjoint_of(const AdjointPlan &adjoint) {
  using S = detail::RowNumber<T>;
  const RowPlan plan = adjoint.part;
  return {"layer_norm_adjoint",
          {"x", "y_gradient", "x_gradient", "epsilon"},
          [=](Array<const T, 2> x, Array<const T, 2> y_gradient, Array<T, 2> x_gradient, const Traced<S> &epsilon) {
            const RowGradients<T> gradients(x, y_gradient, x_gradient.extent(1), epsilon, plan);
            const Int i = block_index();
            gradients.of_tile(
                i, [](const Tile<S> &g, const Int &) { return g; },
                [&](const Int &k, const Tile<S> &, const Tile<S> &, const Tile<S> &of_x) {
                  detail::put_rows<T>(x_gradient, i, k, of_x, plan, adjoint.add_gradients);
                });
          },
          TileOptions{.threads = plan.threads}};
}

SAMITE_TRACED_ONCE_END

// The gradients of the weight and the bias, to which all blocks add.
constexpr std::uint64_t sums_of_columns = 0b110000;

template <Scalar T>
std::shared_ptr<jit::KernelDefinition> adjoint_kernel(const AdjointPlan &plan) {
  static detail::Kernels<AdjointPlan, Adjoint<T>> made(adjoint_of<T>, sums_of_columns);
  return made.at(plan).definition();
}

template <Scalar T>
std::shared_ptr<jit::KernelDefinition> plain_adjoint_kernel(const AdjointPlan &plan) {
  static detail::Kernels<AdjointPlan, PlainAdjoint<T>> made(plain_adjoint_of<T>, /*read_elsewhere=*/0);
  return made.at(plan).definition();
}

// On CUDA, if there are more tiles than concurrent blocks, blocks iterate over several tiles, so that fewer sums are
// added to the same columns.
AdjointPlan adjoint_plan(ScalarType type, std::int64_t rows, std::int64_t columns, const PlanDevice &device) {
  const RowPlan part = detail::row_plan(columns, device, longest_on_cpu(type), detail::few_numbers);
  if (device.is_cpu()) return {part, 1};
  const std::int64_t tiles = detail::row_blocks(rows, part)[0];
  const std::int64_t each = std::clamp<std::int64_t>(tiles / (std::int64_t{4} * device.multiprocessors), 1, 16);
  return {part, static_cast<int>(std::bit_floor(static_cast<std::uint64_t>(each)))};
}

// No blocks for rows without elements, which lack a first one.
Extents blocks_of(std::int64_t rows, std::int64_t columns, const RowPlan &plan) {
  return columns == 0 ? Extents{0} : detail::row_blocks(rows, plan);
}

}  // namespace

PlannedLaunch layer_norm_adjoint_launch(ScalarType type, std::int64_t rows, std::int64_t columns,
                                        const PlanDevice &device, bool add_gradients, SourceLocation where) {
  AdjointPlan plan = adjoint_plan(type, rows, columns, device);
  plan.add_gradients = add_gradients;
  const Extents blocks{detail::ceil_div(blocks_of(rows, columns, plan.part)[0], plan.tiles)};
  switch (type) {
#define SAMITE_CASE(T) \
  case scalar_type_of<T>: return {adjoint_kernel<T>(plan), blocks};
    SAMITE_ROW_TYPES(SAMITE_CASE)
#undef SAMITE_CASE
    default: detail::refuse_row_type("layer_norm_adjoint", type, where);
  }
}

PlannedLaunch plain_layer_norm_adjoint_launch(ScalarType type, std::int64_t rows, std::int64_t columns,
                                              const PlanDevice &device, bool add_gradients, SourceLocation where) {
  const AdjointPlan plan{detail::row_plan(columns, device, longest_on_cpu(type), detail::few_numbers), 1,
                         add_gradients};
  const Extents blocks = blocks_of(rows, columns, plan.part);
  switch (type) {
#define SAMITE_CASE(T) \
  case scalar_type_of<T>: return {plain_adjoint_kernel<T>(plan), blocks};
    SAMITE_ROW_TYPES(SAMITE_CASE)
#undef SAMITE_CASE
    default: detail::refuse_row_type("layer_norm_adjoint", type, where);
  }
}

PlannedLaunch layer_norm_launch(ScalarType type, bool weighted, std::int64_t rows, std::int64_t columns,
                                const PlanDevice &device, SourceLocation where) {
  const RowPlan plan = detail::row_plan(columns, device, longest_on_cpu(type), detail::many_numbers(type));
  const Extents blocks = blocks_of(rows, columns, plan);
  switch (type) {
#define SAMITE_CASE(T) \
  case scalar_type_of<T>: return {layer_norm_kernel<T>(plan, weighted), blocks};
    SAMITE_ROW_TYPES(SAMITE_CASE)
#undef SAMITE_CASE
    default: detail::refuse_row_type("layer_norm", type, where);
  }
}

namespace {

ScalarType type_of_sums(const AnyBuffer &x) { return x.type() == ScalarType::Float64 ? x.type() : ScalarType::Float32; }

void check_columns(const char *operation, const AnyBuffer &x, const AnyBuffer &numbers, const char *what,
                   SourceLocation where) {
  const ScalarType type = type_of_sums(x);
  if (!numbers.valid() || numbers.type() != type || numbers.extents() != Extents{x.extents()[1]})
    throw UserError(
        where, fmt::format("{}: expected a {} of {} numbers of {}, one for each column of x; {} given", operation, what,
                           x.extents()[1], cpp_name(type), numbers.valid() ? numbers.to_string() : "an empty buffer"));
}

PlannedLaunch adjoint_for(const AnyBuffer &x, bool add_gradients, SourceLocation where) {
  return layer_norm_adjoint_launch(x.type(), x.extents()[0], x.extents()[1], plan_device(x.device()), add_gradients,
                                   where);
}

PlannedLaunch plain_adjoint_for(const AnyBuffer &x, bool add_gradients, SourceLocation where) {
  return plain_layer_norm_adjoint_launch(x.type(), x.extents()[0], x.extents()[1], plan_device(x.device()),
                                         add_gradients, where);
}

// On a tape. Gradients that no array tracks go to memory of their own.
std::vector<jit::AdjointLaunch> taped_adjoint(std::span<const AnyBuffer> values, std::span<const AnyBuffer> arrays,
                                              double epsilon, SourceLocation where) {
  const auto gradient = [](const AnyBuffer &array) {
    return array.tracks_gradient() ? array.gradient() : AnyBuffer(array.device(), array.type(), array.extents());
  };
  const AnyBuffer of_x = gradient(arrays[0]), of_weight = gradient(arrays[1]), of_bias = gradient(arrays[2]),
                  of_y = gradient(arrays[3]);
  return {detail::adjoint_launch(adjoint_for(arrays[0], /*add_gradients=*/true, where),
                                 {{&values[0]},
                                  {&values[1]},
                                  {&of_y},
                                  {&of_x},
                                  {&of_weight},
                                  {&of_bias},
                                  detail::number(epsilon, type_of_sums(arrays[0]))})};
}

}  // namespace

void layer_norm_adjoint(const AnyBuffer &x, const AnyBuffer &weight, const AnyBuffer &y_gradient,
                        const AnyBuffer &x_gradient, const AnyBuffer &weight_gradient, const AnyBuffer &bias_gradient,
                        const LayerNormOptions &options, SourceLocation where) {
  detail::check_rows("layer_norm_adjoint", x, y_gradient, where);
  detail::check_rows("layer_norm_adjoint", x, x_gradient, where);
  check_columns("layer_norm_adjoint", x, weight, "weight", where);
  check_columns("layer_norm_adjoint", x, weight_gradient, "gradient of the weight", where);
  check_columns("layer_norm_adjoint", x, bias_gradient, "gradient of the bias", where);
  detail::launch_planned(adjoint_for(x, options.add_gradients, where),
                         {{&x},
                          {&weight},
                          {&y_gradient},
                          {&x_gradient},
                          {&weight_gradient},
                          {&bias_gradient},
                          detail::number(options.epsilon, type_of_sums(x))},
                         where, options.stream);
}

void layer_norm_adjoint(const AnyBuffer &x, const AnyBuffer &y_gradient, const AnyBuffer &x_gradient,
                        const LayerNormOptions &options, SourceLocation where) {
  detail::check_rows("layer_norm_adjoint", x, y_gradient, where);
  detail::check_rows("layer_norm_adjoint", x, x_gradient, where);
  detail::launch_planned(plain_adjoint_for(x, options.add_gradients, where),
                         {{&x}, {&y_gradient}, {&x_gradient}, detail::number(options.epsilon, type_of_sums(x))}, where,
                         options.stream);
}

void layer_norm(const AnyBuffer &x, const AnyBuffer &weight, const AnyBuffer &bias, const AnyBuffer &y,
                const LayerNormOptions &options, SourceLocation where) {
  detail::check_rows("layer_norm", x, y, where);
  const PlannedLaunch planned =
      layer_norm_launch(x.type(), true, x.extents()[0], x.extents()[1], plan_device(x.device()), where);
  check_columns("layer_norm", x, weight, "weight", where);
  check_columns("layer_norm", x, bias, "bias", where);
  const auto adjoint = [arrays = std::vector{x, weight, bias, y}, epsilon = options.epsilon, where](
                           std::span<const AnyBuffer> values) { return taped_adjoint(values, arrays, epsilon, where); };
  jit::perform(
      {.name = "layer_norm",
       .arrays = {{.buffer = x, .name = "x", .needed = true},
                  {.buffer = weight, .name = "weight", .needed = true},
                  {bias, "bias"},
                  {.buffer = y, .name = "y", .written = true}},
       .stream = options.stream,
       .adjoint = adjoint},
      [&](bool) {
        detail::launch_planned(planned,
                               {{&x}, {&weight}, {&bias}, {&y}, detail::number(options.epsilon, type_of_sums(x))},
                               where, options.stream);
      },
      where);
}

void layer_norm(const AnyBuffer &x, const AnyBuffer &y, const LayerNormOptions &options, SourceLocation where) {
  detail::check_rows("layer_norm", x, y, where);
  const PlannedLaunch planned =
      layer_norm_launch(x.type(), false, x.extents()[0], x.extents()[1], plan_device(x.device()), where);
  const auto adjoint = [x, y, epsilon = options.epsilon, where](std::span<const AnyBuffer> values) {
    const AnyBuffer of_y = y.gradient(), of_x = x.gradient();
    return std::vector{
        detail::adjoint_launch(plain_adjoint_for(x, /*add_gradients=*/true, where),
                               {{&values[0]}, {&of_y}, {&of_x}, detail::number(epsilon, type_of_sums(x))})};
  };
  jit::perform(
      {.name = "layer_norm",
       .arrays = {{.buffer = x, .name = "x", .needed = true}, {.buffer = y, .name = "y", .written = true}},
       .stream = options.stream,
       .adjoint = adjoint},
      [&](bool) {
        detail::launch_planned(planned, {{&x}, {&y}, detail::number(options.epsilon, type_of_sums(x))}, where,
                               options.stream);
      },
      where);
}

}  // namespace samite::ops
