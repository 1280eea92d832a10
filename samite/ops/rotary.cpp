#include "samite/ops/rotary.h"

#include "samite/base/error.h"
#include "samite/lang/traced_once.h"
#include "samite/ops/kernels.h"
#include "samite/ops/matmul_plan.h"
#include "samite/ops/operand_check.h"
#include "samite/ops/rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace samite::ops {
namespace {

// A row's pairs are one tile.
constexpr std::int64_t most_pairs = 8192;

struct RotaryPlan {
  detail::RowPlan rows;
  bool backwards = false, add = false;

  friend bool operator==(const RotaryPlan &, const RotaryPlan &) = default;
};

SAMITE_TRACED_ONCE_BEGIN

template <Scalar T>
using RotaryKernel = TileKernel<void(Array<const T, 4>, Array<const T, 4>, Array<const detail::RowNumber<T>, 2>,
                                     Array<const detail::RowNumber<T>, 2>, Array<T, 4>, Array<T, 4>)>;

template <Scalar T>
RotaryKernel<T> rotary_of(const RotaryPlan &rotary) {
  using S = detail::RowNumber<T>;
  const detail::RowPlan plan = rotary.rows;
  return {rotary.backwards ? "rotary_backwards" : "rotary",
          {"first", "second", "cosines", "sines", "first_turned", "second_turned"},
          [=](Array<const T, 4> first, Array<const T, 4> second, Array<const S, 2> cosines, Array<const S, 2> sines,
              Array<T, 4> first_turned, Array<T, 4> second_turned) {
            auto [batch, head, i] = block_index<3>();
            const auto put = [&](const Array<T, 4> &y, const Tile<S> &values) {
              const Tile<S> sum =
                  rotary.add
                      ? values + detail::as_type<S>(tile::load(y, {batch, head, i, 0}, {plan.rows, plan.columns}))
                      : values;
              tile::store(y, {batch, head, i, 0}, detail::as_type<T>(sum));
            };
            const auto load = [&](const Array<const T, 4> &x) {
              return detail::as_type<S>(tile::load(x, {batch, head, i, 0}, {plan.rows, plan.columns}));
            };
            const Tile<S> a = load(first), b = load(second), c = tile::load(cosines, {i, 0}, {plan.rows, plan.columns}),
                          s = tile::load(sines, {i, 0}, {plan.rows, plan.columns});
            put(first_turned, rotary.backwards ? a * c + b * s : a * c - b * s);
            put(second_turned, rotary.backwards ? b * c - a * s : b * c + a * s);
          },
          TileOptions{.threads = plan.threads}};
}

SAMITE_TRACED_ONCE_END

// Blocks of other batches and heads read the same cosines and sines.
constexpr std::uint64_t tables = 0b001100;

template <Scalar T>
std::shared_ptr<jit::KernelDefinition> rotary_kernel(const RotaryPlan &plan) {
  static detail::Kernels<RotaryPlan, RotaryKernel<T>> made(rotary_of<T>, tables);
  return made.at(plan).definition();
}

void check(const AnyBuffer &x, const AnyBuffer &cosines, const AnyBuffer &sines, const AnyBuffer &y,
           SourceLocation where) {
  if (!x.valid() || !y.valid() || x.rank() != 4 || x.extents() != y.extents() || x.type() != y.type() ||
      x.device() != y.device())
    throw UserError(where, fmt::format("rotary: expected two arrays of (batches, heads, rows, size) of one type on one "
                                       "device; x is {} and y {}",
                                       detail::text_of(x), detail::text_of(y)));
  const Extents &e = x.extents();
  if (e[3] % 2 != 0)
    throw UserError(where, fmt::format("rotary: expected rows of pairs, of an even number of elements; x is {}",
                                       detail::text_of(x)));
  const ScalarType type = detail::row_number_type(x.type());
  for (const auto &[table, what] : {std::pair{&cosines, "cosines"}, {&sines, "sines"}})
    if (!table->valid() || table->type() != type || table->extents() != Extents{e[2], e[3] / 2} ||
        table->device() != x.device())
      throw UserError(where,
                      fmt::format("rotary: expected {} of {} with extents ({}, {}), for each row and pair, on {}, "
                                  "as x is {}; {} given",
                                  what, cpp_name(type), e[2], e[3] / 2, x.device().to_string(), detail::text_of(x),
                                  detail::text_of(*table)));
}

// The first or the second numbers of all pairs.
AnyBuffer of_pairs(const AnyBuffer &x, RotaryPairs pairs, int which) {
  const std::int64_t size = x.extents()[3];
  if (pairs == RotaryPairs::interleaved) return x.slice(3, which, size, 2);
  return which == 0 ? x.slice(3, 0, size / 2) : x.slice(3, size / 2, size);
}

}  // namespace

PlannedLaunch rotary_launch(ScalarType type, const RotaryShape &shape, bool backwards, bool add,
                            const PlanDevice &device, SourceLocation where) {
  const std::int64_t pairs = shape.size / 2;
  if (pairs > most_pairs)
    throw UserError(where,
                    fmt::format("rotary: expected up to {} numbers in a row; {} given: give views of parts of it",
                                2 * most_pairs, shape.size));
  detail::RowPlan rows = detail::row_plan(pairs, device, most_pairs, detail::few_numbers);
  const RotaryPlan plan{rows, backwards, add};
  const Extents blocks =
      pairs == 0 ? Extents{0, 0, 0}
                 : Extents{shape.batches, shape.heads, detail::ceil_div(shape.rows, std::int64_t{rows.rows})};
  switch (type) {
#define SAMITE_CASE(T) \
  case scalar_type_of<T>: return {rotary_kernel<T>(plan), blocks};
    SAMITE_ROW_TYPES(SAMITE_CASE)
#undef SAMITE_CASE
    default: detail::refuse_row_type("rotary", type, where);
  }
}

void rotary(const AnyBuffer &x, const AnyBuffer &cosines, const AnyBuffer &sines, const AnyBuffer &y,
            const RotaryOptions &options, SourceLocation where) {
  check(x, cosines, sines, y, where);
  const Extents &e = x.extents();
  const RotaryShape shape{e[0], e[1], e[2], e[3]};
  const PlanDevice device = plan_device(x.device());
  if (x.count() == 0) return;
  const RotaryPairs pairs = options.pairs;
  const AnyBuffer first = of_pairs(x, pairs, 0), second = of_pairs(x, pairs, 1), first_of_y = of_pairs(y, pairs, 0),
                  second_of_y = of_pairs(y, pairs, 1);
  const PlannedLaunch planned = rotary_launch(x.type(), shape, options.backwards, options.add, device, where);
  const auto run = [&](bool) {
    detail::launch_planned(planned, {{&first}, {&second}, {&cosines}, {&sines}, {&first_of_y}, {&second_of_y}}, where,
                           options.stream);
  };
  // A tape assumes that an operation overwrites its results, and the adjoint has no gradients of the tables.
  if (options.add || cosines.tracks_gradient() || sines.tracks_gradient()) return run(/*derived=*/true);
  const auto adjoint = [=](std::span<const AnyBuffer> values) {
    const AnyBuffer of_x = x.gradient(), of_y = y.gradient();
    const AnyBuffer first = of_pairs(of_y, pairs, 0), second = of_pairs(of_y, pairs, 1),
                    first_of_x = of_pairs(of_x, pairs, 0), second_of_x = of_pairs(of_x, pairs, 1);
    return std::vector{
        detail::adjoint_launch(rotary_launch(x.type(), shape, !options.backwards, /*add=*/true, device, where),
                               {{&first}, {&second}, {&values[1]}, {&values[2]}, {&first_of_x}, {&second_of_x}})};
  };
  jit::perform({.name = "rotary",
                .arrays = {{x, "x"},
                           {.buffer = cosines, .name = "cosines", .needed = true},
                           {.buffer = sines, .name = "sines", .needed = true},
                           {.buffer = y, .name = "y", .written = true}},
                .stream = options.stream,
                .adjoint = adjoint},
               run, where);
}

}  // namespace samite::ops
