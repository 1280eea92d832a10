#include "samite/ops/quantise.h"

#include "samite/base/error.h"
#include "samite/jit/tile_kernel.h"
#include "samite/lang/atomic.h"
#include "samite/lang/traced_once.h"
#include "samite/ops/kernels.h"
#include "samite/ops/matmul_plan.h"
#include "samite/ops/scales.h"

#include <fmt/format.h>

namespace samite::ops {
namespace {

// A block's tile of numbers that share scales.
struct Cut {
  int rows, columns;
};
// Tiles are inside blocks of 128 by 128, and are longer along the rows, whose elements are contiguous.
constexpr Cut cut(ScaleGroups groups) {
  if (groups.rows == ScaleGroup::block && groups.columns == ScaleGroup::block) return {scale_block, scale_block};
  if (groups.columns == ScaleGroup::block) return {32, scale_block};
  if (groups.rows == ScaleGroup::block) return {scale_block, 32};
  if (groups.rows == ScaleGroup::one) return {8, 512};
  if (groups.columns == ScaleGroup::one) return {128, 32};
  return {32, 128};
}

SAMITE_TRACED_ONCE_BEGIN

// The unit of the scale. A smaller scale would lose digits, or be zero.
template <Scalar Q>
Tile<float> scale_of(const Tile<float> &largest) {
  constexpr float least = std::numeric_limits<float>::min();
  return select(largest > 0.0f, max(largest * (1 / static_cast<float>(std::numeric_limits<Q>::max())), least), 1.0f);
}
template <Scalar T>
Tile<float> in_float(const Tile<T> &x) {
  if constexpr (std::same_as<T, float>)
    return x;
  else
    return tile::cast<float>(x);
}

template <class T, class Q>
using Quantiser = TileKernel<void(Array<const T, 2>, Array<Q, 2>, Array<float, 2>)>;

// One scale for each row, each column, or each block: a block of threads finds its scales and then divides.
template <Scalar T, Scalar Q>
Quantiser<T, Q> in_one(const ScaleGroups &groups) {
  const auto [rows, columns] = cut(groups);
  return {"quantise", {"x", "q", "scale"}, [=](Array<const T, 2> x, Array<Q, 2> q, Array<float, 2> scale) {
            auto [i, j] = block_index<2>();
            const auto part = [&](const Int &a, const Int &b) {
              return in_float(tile::load(x, {a, b}, {rows, columns}));
            };
            if (groups.rows == ScaleGroup::block || groups.columns == ScaleGroup::block) {
              const Tile<float> values = part(i, j), magnitudes = abs(values);
              Tile<float> own = groups.rows == ScaleGroup::block && groups.columns == ScaleGroup::block
                                    ? tile::max(magnitudes, {0, 1})
                                : groups.columns == ScaleGroup::block ? tile::max(magnitudes, {1})
                                                                      : tile::max(magnitudes, {0});
              own = scale_of<Q>(own);
              tile::store(scale, {i, j}, own);
              tile::store(q, {i, j}, tile::cast<Q>(values / own));
              return;
            }
            const bool by_row = groups.rows == ScaleGroup::one;
            const int along = by_row ? 1 : 0;
            const auto kth = [&](const Int &k) { return by_row ? part(i, k) : part(k, j); };
            const Int parts = tile::ceil_div(x.extent(along), by_row ? columns : rows);
            Tile<float> largest = tile::zeros<float>({by_row ? rows : 1, by_row ? 1 : columns});
            for (Int k : range(parts)) largest = max(largest, tile::max(abs(kth(k)), {along}));
            const Tile<float> own = scale_of<Q>(largest);
            if (by_row)
              tile::store(scale, {i, 0}, own);
            else
              tile::store(scale, {0, j}, own);
            for (Int k : range(parts)) {
              const Tile<Q> quotient = tile::cast<Q>(kth(k) / own);
              if (by_row)
                tile::store(q, {i, k}, quotient);
              else
                tile::store(q, {k, j}, quotient);
            }
          }};
}

// One scale for all: `largest` is the maximum over all blocks.
template <Scalar T>
auto largest_of_all() {
  return TileKernel{"largest", [](Array<const T, 2> x, Array<float, 2> largest) {
                      const auto [rows, columns] = cut({});
                      auto [i, j] = block_index<2>();
                      atomic_max(largest(0, 0), tile::max(abs(in_float(tile::load(x, {i, j}, {rows, columns})))));
                    }};
}
template <Scalar T, Scalar Q>
auto divide_all() {
  return TileKernel{"quantise",
                    {"x", "q", "largest", "scale"},
                    [](Array<const T, 2> x, Array<Q, 2> q, Array<const float, 2> largest, Array<float, 2> scale) {
                      const auto [rows, columns] = cut({});
                      auto [i, j] = block_index<2>();
                      const Tile<float> own = scale_of<Q>(tile::load(largest, {0, 0}, {1, 1}));
                      if_(i == 0 && j == 0, [&] { tile::store(scale, {0, 0}, own); });
                      tile::store(q, {i, j}, tile::cast<Q>(in_float(tile::load(x, {i, j}, {rows, columns})) / own));
                    }};
}

template <Scalar Q, Scalar T>
auto multiply(const ScaleGroups &groups) {
  return TileKernel{
      "dequantise", {"q", "scale", "x"}, [=](Array<const Q, 2> q, Array<const float, 2> scale, Array<T, 2> x) {
        const auto [rows, columns] = cut(groups);
        auto [i, j] = block_index<2>();
        const auto at = [](ScaleGroup group, const Int &number, int size) {
          if (group == ScaleGroup::all) return Int(0);
          if (group == ScaleGroup::block) return Int(number * size / scale_block);
          return Int(number);
        };
        const Tile<float> own =
            tile::load(scale, {at(groups.rows, i, rows), at(groups.columns, j, columns)},
                       {groups.rows == ScaleGroup::one ? rows : 1, groups.columns == ScaleGroup::one ? columns : 1});
        const Tile<float> values = tile::cast<float>(tile::load(q, {i, j}, {rows, columns})) * own;
        if constexpr (std::same_as<T, float>)
          tile::store(x, {i, j}, values);
        else
          tile::store(x, {i, j}, tile::cast<T>(values));
      }};
}

SAMITE_TRACED_ONCE_END

// The scales' groups, after checking x and q.
ScaleGroups groups_of(const std::string &name, const AnyBuffer &x, const AnyBuffer &q, const AnyBuffer &scale,
                      SourceLocation where) {
  if (!x.valid() || !q.valid() || x.rank() != 2 || x.extents() != q.extents())
    throw UserError(where, fmt::format("{}: expected two matrices of the same extents; {} and {} given", name,
                                       x.valid() ? x.to_string() : "an empty buffer",
                                       q.valid() ? q.to_string() : "an empty buffer"));
  return scale_groups(name, "the scale", scale, 0, x.extents()[0], x.extents()[1], where);
}

template <Scalar T, Scalar Q>
QuantiseLaunches launches(const ScaleGroups &groups, std::int64_t rows, std::int64_t columns) {
  const auto [height, width] = cut(groups);
  const std::int64_t down = detail::ceil_div(rows, height), across = detail::ceil_div(columns, width);
  if (groups == ScaleGroups{}) {
    static const auto find = largest_of_all<T>();
    static const auto divide = [] {
      auto made = divide_all<T, Q>();
      detail::expect_apart(made, detail::all_arrays);
      return made;
    }();
    return {PlannedLaunch{find.definition(), {down, across}}, {divide.definition(), {down, across}}};
  }
  static detail::Kernels<ScaleGroups, Quantiser<T, Q>> made(in_one<T, Q>);
  const bool by_blocks = groups.rows == ScaleGroup::block || groups.columns == ScaleGroup::block;
  const Extents blocks = by_blocks                        ? Extents{down, across}
                         : groups.rows == ScaleGroup::one ? Extents{down, 1}
                                                          : Extents{1, across};
  return {std::nullopt, {made.at(groups).definition(), blocks}};
}

template <Scalar T, Scalar Q>
PlannedLaunch launch_back(const ScaleGroups &groups, std::int64_t rows, std::int64_t columns) {
  const auto [height, width] = cut(groups);
  using Kernel = TileKernel<void(Array<const Q, 2>, Array<const float, 2>, Array<T, 2>)>;
  static detail::Kernels<ScaleGroups, Kernel> made([](const ScaleGroups &key) { return multiply<Q, T>(key); });
  return {made.at(groups).definition(), {detail::ceil_div(rows, height), detail::ceil_div(columns, width)}};
}

// X(element type, 8-bit type) for each supported pair.
#define SAMITE_QUANTISED(X) \
  X(float, f8e4m3)          \
  X(float, f8e5m2)          \
  X(half, f8e4m3)           \
  X(half, f8e5m2)           \
  X(bfloat16, f8e4m3)       \
  X(bfloat16, f8e5m2)

[[noreturn]] void refuse_types(const char *name, ScalarType x, ScalarType q, SourceLocation where) {
  throw UserError(where, fmt::format("{}: expected half, bfloat16 or float and an 8-bit floating type, f8e4m3 or "
                                     "f8e5m2; {} and {} given",
                                     name, cpp_name(x), cpp_name(q)));
}

// A single scale along a dimension equals that of one block of at most as many numbers.
ScaleGroups with_whole_blocks(ScaleGroups groups, std::int64_t rows, std::int64_t columns, SourceLocation where) {
  const bool has_blocks = groups.rows == ScaleGroup::block || groups.columns == ScaleGroup::block;
  if (!has_blocks) return groups;
  for (const auto &[group, count] : {std::pair{&groups.rows, rows}, {&groups.columns, columns}}) {
    if (*group != ScaleGroup::all) continue;
    if (count > scale_block)
      throw UserError(where,
                      fmt::format("quantise: one scale for {} numbers along one dimension and all {} along the "
                                  "other; expected ({}, {}), one for a block of {} by {}",
                                  scale_block, count, detail::ceil_div(rows, std::int64_t{scale_block}),
                                  detail::ceil_div(columns, std::int64_t{scale_block}), scale_block, scale_block));
    *group = ScaleGroup::block;
  }
  return groups;
}

}  // namespace

QuantiseLaunches quantise_launches(ScalarType x, ScalarType q, const ScaleGroups &given, std::int64_t rows,
                                   std::int64_t columns, SourceLocation where) {
  const ScaleGroups groups = with_whole_blocks(given, rows, columns, where);
#define SAMITE_CASE(T, Q) \
  if (x == scalar_type_of<T> && q == scalar_type_of<Q>) return launches<T, Q>(groups, rows, columns);
  SAMITE_QUANTISED(SAMITE_CASE)
#undef SAMITE_CASE
  refuse_types("quantise", x, q, where);
}

PlannedLaunch dequantise_launch(ScalarType q, ScalarType x, const ScaleGroups &groups, std::int64_t rows,
                                std::int64_t columns, SourceLocation where) {
#define SAMITE_CASE(T, Q) \
  if (x == scalar_type_of<T> && q == scalar_type_of<Q>) return launch_back<T, Q>(groups, rows, columns);
  SAMITE_QUANTISED(SAMITE_CASE)
#undef SAMITE_CASE
  refuse_types("dequantise", x, q, where);
}

void quantise(const AnyBuffer &x, const AnyBuffer &q, const AnyBuffer &scale, const std::optional<Stream> &stream,
              SourceLocation where) {
  const ScaleGroups groups = groups_of("quantise", x, q, scale, where);
  const QuantiseLaunches planned = quantise_launches(x.type(), q.type(), groups, x.extents()[0], x.extents()[1], where);
  if (!planned.largest) return detail::launch_planned(planned.quantise, {{&x}, {&q}, {&scale}}, where, stream);
  const Buffer<float> largest(x.device(), {1, 1});
  detail::launch_planned(*planned.largest, {{&x}, {&largest}}, where, stream);
  detail::launch_planned(planned.quantise, {{&x}, {&q}, {&largest}, {&scale}}, where, stream);
}

void dequantise(const AnyBuffer &q, const AnyBuffer &scale, const AnyBuffer &x, const std::optional<Stream> &stream,
                SourceLocation where) {
  const ScaleGroups groups = groups_of("dequantise", q, x, scale, where);
  detail::launch_planned(dequantise_launch(q.type(), x.type(), groups, q.extents()[0], q.extents()[1], where),
                         {{&q}, {&scale}, {&x}}, where, stream);
}

}  // namespace samite::ops
