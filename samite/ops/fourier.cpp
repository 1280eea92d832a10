#include "samite/ops/fourier.h"

#include "samite/base/error.h"
#include "samite/lang/tile_fourier.h"
#include "samite/lang/tile_memory.h"
#include "samite/lang/traced_once.h"
#include "samite/ops/gradients.h"
#include "samite/ops/kernels.h"
#include "samite/ops/matmul_plan.h"
#include "samite/ops/operand_check.h"
#include "samite/ops/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <numbers>

namespace samite::ops {
namespace {

// The longest row that is transformed in one tile. A GPU keeps up to three tiles in a block's shared memory.
std::int64_t longest_on(ScalarType type, const PlanDevice &device) {
  constexpr std::int64_t longest = 4096, of_complex = 2, tiles = 3;
  if (device.is_cpu()) return longest;
  return std::min(longest, device.shared_bytes() / (tiles * of_complex * static_cast<std::int64_t>(size_of(type))));
}

struct FourierPlan {
  int rows = 0, n = 0, other = 1, threads = 0;  // transforms of a tile, their length, and the other factor
  bool inverse = false, add = false;

  friend bool operator==(const FourierPlan &, const FourierPlan &) = default;
};

SAMITE_TRACED_ONCE_BEGIN

template <Scalar T>
struct FourierKernels {
  using Whole = TileKernel<void(Array<const T, 3>, Array<T, 3>, Traced<T>)>;
  using First = TileKernel<void(Array<const T, 4>, Array<T, 4>)>;
  using Last = TileKernel<void(Array<const T, 4>, Array<T, 4>, Traced<T>)>;
  using Plan = FourierPlan;

  static Tile<T> transformed(const Tile<T> &x, const Plan &plan) { return plan.inverse ? tile::ifft(x) : tile::fft(x); }
  // Columns of a matrix of complex numbers, as rows.
  static tile::View columns() { return {.order = {1, 0, 2}}; }

  static Whole whole(const Plan &plan) {
    return {plan.inverse ? "inverse_fft" : "fft",
            {"x", "y", "scale"},
            [=](Array<const T, 3> x, Array<T, 3> y, const Traced<T> &scale) {
              const Int i = block_index();
              Tile<T> values = transformed(tile::load(x, {i, 0, 0}, {plan.rows, plan.n, 2}), plan) * scale;
              if (plan.add) values = values + tile::load(y, {i, 0, 0}, {plan.rows, plan.n, 2});
              tile::store(y, {i, 0, 0}, values);
            },
            TileOptions{.threads = plan.threads}};
  }

  // With k = k1 n2 + k2 and j = j1 + n1 j2, the sums over k1, times exp(∓2πi j1 k2 / n).
  static First first(const Plan &plan) {
    return {"fft_of_columns",
            {"x", "steps"},
            [=](Array<const T, 4> x, Array<T, 4> steps) {
              auto [row, i] = block_index<2>();
              const Int column = i * plan.rows;
              const Tile<T> sums =
                  transformed(tile::load_view(x, {row, 0, column, 0}, {plan.rows, plan.n, 2}, columns()), plan);
              // Less than n, which is at most 2^24. The angle is in double: its error would be that of the result.
              const Tile<std::int32_t> turns =
                  tile::coordinate({plan.rows, plan.n}, 1) * (tile::coordinate({plan.rows, plan.n}, 0) + column);
              const double unit = (plan.inverse ? 2 : -2) * std::numbers::pi / (double(plan.n) * plan.other);
              const Tile<double> angle = tile::cast<double>(turns) * unit;
              const Tile<T> factor = tile::complex(detail::as_type<T>(cos(angle)), detail::as_type<T>(sin(angle)));
              tile::store_at(steps, {row, column, 0, 0}, tile::multiply_complex(sums, factor));
            },
            TileOptions{.threads = plan.threads}};
  }
  // The sums over k2.
  static Last last(const Plan &plan) {
    return {"fft_of_rows",
            {"steps", "y", "scale"},
            [=](Array<const T, 4> steps, Array<T, 4> y, const Traced<T> &scale) {
              auto [row, i] = block_index<2>();
              const Int column = i * plan.rows;
              const TileExtents extents{plan.rows, plan.n, 2};
              Tile<T> values =
                  transformed(tile::load_view(steps, {row, 0, column, 0}, extents, columns()), plan) * scale;
              if (plan.add) values = values + tile::load_view(y, {row, 0, column, 0}, extents, columns());
              tile::store_view(y, {row, 0, column, 0}, values, columns());
            },
            TileOptions{.threads = plan.threads}};
  }
};

SAMITE_TRACED_ONCE_END

template <Scalar T>
struct Made {
  using Of = FourierKernels<T>;
  // A block of `whole` reads only the elements that it writes.
  detail::Kernels<FourierPlan, typename Of::Whole> whole{Of::whole, 0};
  detail::Kernels<FourierPlan, typename Of::First> first{Of::first};
  detail::Kernels<FourierPlan, typename Of::Last> last{Of::last};

  static Made &all() {
    static Made all;
    return all;
  }
};

// The factor nearest to the root, so that both are short; none if one would be too long.
std::optional<std::int64_t> factor_of(std::int64_t n, std::int64_t longest) {
  for (std::int64_t factor = longest; factor > 1; --factor)
    if (n % factor == 0 && factor * factor <= n && n / factor <= longest) return factor;
  return std::nullopt;
}

FourierPlan plan_of(std::int64_t n, std::int64_t other, const FourierKind &kind, const PlanDevice &device) {
  constexpr std::int64_t elements = 2048;
  return {.rows = static_cast<int>(std::clamp<std::int64_t>(elements / n, 1, 16)),
          .n = static_cast<int>(n),
          .other = static_cast<int>(other),
          .threads = device.is_cpu() ? 32 : 128,
          .inverse = kind.inverse,
          .add = kind.add};
}

template <Scalar T>
FourierLaunches launches(std::int64_t rows, std::int64_t n, const FourierKind &kind, const PlanDevice &device,
                         SourceLocation where) {
  auto &made = Made<T>::all();
  const std::int64_t longest = longest_on(scalar_type_of<T>, device);
  if (n <= longest) {
    const FourierPlan plan = plan_of(n, 1, kind, device);
    return {.first = {},
            .last = {made.whole.at(plan).definition(), {detail::ceil_div(rows, std::int64_t{plan.rows})}},
            .n2 = n};
  }
  const std::optional<std::int64_t> n1 = factor_of(n, longest);
  if (!n1)
    throw UserError(where, fmt::format("fft: expected a length up to {}, or with two factors up to that; {} given: pad "
                                       "the rows with zeros",
                                       longest, n));
  const std::int64_t n2 = n / *n1;
  FourierPlan first = plan_of(*n1, n2, kind, device), last = plan_of(n2, *n1, kind, device);
  first.add = false;
  return {
      .first = PlannedLaunch{made.first.at(first).definition(), {rows, detail::ceil_div(n2, std::int64_t{first.rows})}},
      .last = {made.last.at(last).definition(), {rows, detail::ceil_div(*n1, std::int64_t{last.rows})}},
      .n1 = *n1,
      .n2 = n2};
}

// The launches for these arrays, y and x being those of a transform or of its adjoint.
std::vector<jit::AdjointLaunch> launches_for(const AnyBuffer &x, const AnyBuffer &y, const FourierKind &kind,
                                             double scale, SourceLocation where) {
  const Extents &e = x.extents();
  const FourierLaunches planned = fft_launches(x.type(), e[0], e[1], kind, plan_device(x.device()), where);
  const jit::Argument factor = detail::number(scale, x.type());
  if (!planned.first) return {detail::adjoint_launch(planned.last, {{&x}, {&y}, factor})};
  const Extents turned{e[0], planned.n2, planned.n1, 2};
  const AnyBuffer steps(x.device(), x.type(), turned, Gradient::tracked);
  const AnyBuffer matrices = x.reshape({e[0], planned.n1, planned.n2, 2}, where), results = y.reshape(turned, where);
  return {detail::adjoint_launch(*planned.first, {{&matrices}, {&steps}}),
          detail::adjoint_launch(planned.last, {{&steps}, {&results}, factor})};
}

}  // namespace

FourierLaunches fft_launches(ScalarType type, std::int64_t rows, std::int64_t n, const FourierKind &kind,
                             const PlanDevice &device, SourceLocation where) {
  if (type == ScalarType::Float32) return launches<float>(rows, n, kind, device, where);
  if (type == ScalarType::Float64) return launches<double>(rows, n, kind, device, where);
  throw UserError(where, fmt::format("fft: expected float or double; {} given", cpp_name(type)));
}

void fft(const AnyBuffer &x, const AnyBuffer &y, const FourierOptions &options, SourceLocation where) {
  if (!x.valid() || !y.valid() || x.rank() != 3 || x.extents() != y.extents() || x.type() != y.type() ||
      x.device() != y.device() || x.extents()[2] != 2)
    throw UserError(where, fmt::format("fft: expected two arrays of (rows, n, 2) of one type on one device, with the "
                                       "real and imaginary parts last; x is {} and y {}",
                                       detail::text_of(x), detail::text_of(y)));
  if (x.count() == 0) return;
  const auto n = static_cast<double>(x.extents()[1]);
  const bool inverse = options.inverse;
  // The transposed conjugate: the adjoint divides by n exactly if the transform does.
  const auto adjoint = [=](std::span<const AnyBuffer>) {
    return launches_for(y.gradient(), x.gradient(), {.inverse = !inverse, .add = true}, inverse ? 1 / n : n, where);
  };
  jit::perform(
      {.name = "fft",
       .arrays = {{x, "x"}, {.buffer = y, .name = "y", .written = true}},
       .stream = options.stream,
       .adjoint = adjoint},
      [&](bool) {
        for (const jit::AdjointLaunch &launch : launches_for(x, y, {.inverse = inverse}, 1, where))
          jit::launch_once(launch.kernel, LaunchExtents(launch.extents, where), {.stream = options.stream},
                           jit::views(launch.arguments));
      },
      where);
}

}  // namespace samite::ops
