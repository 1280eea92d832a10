#include "samite/ops/paged_attention.h"

#include "samite/base/error.h"
#include "samite/jit/tape_access.h"
#include "samite/lang/tile_memory.h"
#include "samite/lang/traced_once.h"
#include "samite/ops/attention_plan.h"
#include "samite/ops/kernels.h"
#include "samite/ops/matmul_plan.h"
#include "samite/ops/operand_check.h"
#include "samite/ops/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace samite::ops {
namespace {

struct PagedPlan {
  int heads = 0, heads_of_key = 0;   // in a block's tile, and how many of them are its own
  int rows = 0, keys = 0, size = 0;  // rows of q and of k in a tile, and numbers of each row
  int threads = 0, stages = 1;
  int tiles_of_page = 1, parts = 1;

  friend bool operator==(const PagedPlan &, const PagedPlan &) = default;
};

SAMITE_TRACED_ONCE_BEGIN

template <Scalar T>
struct PagedKernels {
  using S = lang::Accumulator<T>;
  using In = Array<const T, 4>;
  using Numbers = Array<const std::int32_t, 1>;
  using Table = Array<const std::int32_t, 2>;
  using Parts = TileKernel<void(In, In, In, Table, Numbers, Array<S, 4>, Array<S, 3>, Traced<S>, Int)>;
  using Combine = TileKernel<void(Array<const S, 4>, Array<const S, 3>, Array<T, 4>, Array<S, 3>)>;

  static constexpr S binary_logarithm_of_e = std::numbers::log2e_v<S>;

  // A block has all rows of the heads of q that share a head of the pages, and one part of a sequence's keys.
  static Parts parts(const PagedPlan &plan) {
    return {
        "paged_attention_parts",
        {"q", "k_pages", "v_pages", "page_table", "lengths", "part_results", "part_sums", "scale", "before"},
        [=](In q, In k_pages, In v_pages, Table page_table, Numbers lengths, Array<S, 4> part_results,
            Array<S, 3> part_sums, const Traced<S> &scale, const Int &before) {
          auto [sequence, key_head, part] = block_index<3>();
          const int height = plan.heads * plan.rows;
          const Int first_head = key_head * plan.heads_of_key, heads = q.extent(1);
          const Tile<T> own = tile::reshape(
              tile::load_at(q, {sequence, first_head, 0, 0}, {plan.heads, plan.rows, plan.size}), {height, plan.size});
          const Traced<S> scale_of_powers = scale * binary_logarithm_of_e;
          const Int length = min(lengths(sequence), page_table.extent(1) * (plan.keys * plan.tiles_of_page));
          // The part's tiles of keys, of those that the first row sees.
          const Int begin = max(length - plan.rows - before, 0) / plan.keys, end = tile::ceil_div(length, plan.keys);
          const Int tiles = tile::ceil_div(max(end - begin, 0), plan.parts);
          const Int first = begin + tiles * part, last = min(end, first + tiles);
          Tile<S> largest = tile::full<S>({height, 1}, std::numeric_limits<S>::lowest() / 2);
          Tile<S> sum = tile::zeros<S>({height, 1}), weighted = tile::zeros<S>({height, plan.size});
          for (Int j : range(first, last, pipelined(plan.stages))) {
            const Int page = page_table(sequence, j / plan.tiles_of_page), row = j % plan.tiles_of_page * plan.keys,
                      key = j * plan.keys;
            const Tile<T> keys = tile::load_at(k_pages, {page, key_head, row, 0}, {plan.keys, plan.size});
            // Elements beyond the length may be anything, even NaN.
            const Tile<T> values = tile::load_at(v_pages, {page, key_head, row, 0}, {plan.keys, plan.size},
                                                 tile::coordinate({plan.keys, plan.size}, 0) + key < length);
            const Tile<std::int32_t> term = tile::coordinate({height, plan.keys}, 1) + key,
                                     own_row =
                                         tile::coordinate({height, plan.keys}, 0) % plan.rows + (length - plan.rows);
            const Tile<S> products = select(term <= own_row && own_row - term <= before,
                                            tile::matmul(own, keys, tile::Transposes{.b = true}) * scale_of_powers,
                                            -std::numeric_limits<S>::infinity());
            const Tile<S> next = max(largest, tile::max(products, {1}));
            const Tile<S> smaller = fast_exp2(largest - next), powers = fast_exp2(products - next);
            sum = sum * smaller + tile::sum(powers, {1});
            weighted = weighted * smaller;
            tile::matmul(detail::as_type<T>(powers), values, weighted);
            largest = next;
          }
          const Tile<bool> sees = sum > S(0);
          const Tile<S> divisor = select(sees, sum, S(1));
          const Tile<S> logarithms = select(sees, (largest + log2(divisor)) * (1 / binary_logarithm_of_e),
                                            -std::numeric_limits<S>::infinity());
          const Int of_sequence = sequence * heads + first_head;
          tile::store_at(part_results, {part, of_sequence, 0, 0},
                         tile::reshape(weighted / divisor, {plan.heads, plan.rows, plan.size}),
                         tile::coordinate({plan.heads, plan.rows, plan.size}, 0) < plan.heads_of_key);
          tile::store_at(part_sums, {part, of_sequence, 0}, tile::reshape(logarithms, {plan.heads, plan.rows}),
                         tile::coordinate({plan.heads, plan.rows}, 0) < plan.heads_of_key);
        },
        TileOptions{.threads = plan.threads}};
  }

  // Weighs the results of the parts by their shares of a row's sum.
  static Combine combine(const PagedPlan &plan) {
    return {"paged_attention_combine",
            {"part_results", "part_sums", "out", "row_sums"},
            [=](Array<const S, 4> part_results, Array<const S, 3> part_sums, Array<T, 4> out, Array<S, 3> row_sums) {
              auto [sequence, head] = block_index<2>();
              const Int place = sequence * out.extent(1) + head;
              const auto logarithms_of = [&](const Int &part) {
                return tile::reshape(tile::load_at(part_sums, {part, place, 0}, {plan.rows}), {plan.rows, 1});
              };
              Tile<S> largest = tile::full<S>({plan.rows, 1}, std::numeric_limits<S>::lowest() / 2);
              for (Int part : range(part_sums.extent(0))) largest = max(largest, logarithms_of(part));
              Tile<S> sum = tile::zeros<S>({plan.rows, 1}), weighted = tile::zeros<S>({plan.rows, plan.size});
              for (Int part : range(part_sums.extent(0))) {
                const Tile<S> share = exp(logarithms_of(part) - largest);
                sum += share;
                weighted += share * tile::load_at(part_results, {part, place, 0, 0}, {plan.rows, plan.size});
              }
              const Tile<bool> sees = sum > S(0);
              const Tile<S> divisor = select(sees, sum, S(1));
              tile::store_at(out, {sequence, head, 0, 0}, detail::as_type<T>(weighted / divisor));
              tile::store_at(row_sums, {sequence, head, 0},
                             tile::reshape(select(sees, largest + log(divisor), -std::numeric_limits<S>::infinity()),
                                           {plan.rows}));
            },
            TileOptions{.threads = plan.threads}};
  }
};

SAMITE_TRACED_ONCE_END

template <Scalar T>
struct Made {
  detail::Kernels<PagedPlan, typename PagedKernels<T>::Parts> parts{PagedKernels<T>::parts};
  detail::Kernels<PagedPlan, typename PagedKernels<T>::Combine> combine{PagedKernels<T>::combine};

  static Made &all() {
    static Made all;
    return all;
  }
};

// Tiles of keys are pages, or equal parts of them.
int tile_of_page(std::int64_t page_rows) {
  constexpr std::int64_t most = 64;
  std::int64_t tile = std::min(most, page_rows);
  while (page_rows % tile != 0) --tile;
  return static_cast<int>(tile);
}

// Tensor cores multiply at least 16 rows.
int heads_of_tile(const PagedAttentionShape &shape, const PlanDevice &device) {
  std::int64_t heads = shape.heads_of_key;
  if (!device.is_cpu())
    while (heads * shape.rows % 16 != 0) ++heads;
  return static_cast<int>(heads);
}

// Enough blocks for the device, if each has several tiles of keys.
int part_count(const PagedAttentionShape &shape, int keys, const PlanDevice &device) {
  constexpr std::int64_t fewest_tiles = 4;
  const std::int64_t blocks = std::max<std::int64_t>(shape.sequences * (shape.heads / shape.heads_of_key), 1);
  const std::int64_t tiles = shape.most_pages * (shape.page_rows / keys);
  if (device.is_cpu()) return 1;
  return static_cast<int>(std::clamp<std::int64_t>(std::int64_t{2} * device.multiprocessors / blocks, 1,
                                                   std::max<std::int64_t>(tiles / fewest_tiles, 1)));
}

class Check : public detail::OperandCheck {
 public:
  Check(const AnyBuffer &q, const AnyBuffer &k_pages, const AnyBuffer &v_pages, const AnyBuffer &page_table,
        SourceLocation where)
      : OperandCheck("paged_attention", q, "q", where) {
    for (const auto &[buffer, what] : {std::pair{&q, "q of (sequences, heads, rows, size)"},
                                       {&k_pages, "k_pages of (pages, key heads, rows of a page, size)"}})
      if (!buffer->valid() || buffer->rank() != 4)
        fail(fmt::format("expected {}; {} given", what, detail::text_of(*buffer)));
    if (!page_table.valid() || page_table.rank() != 2)
      fail(fmt::format("expected a page_table of (sequences, pages of a sequence); {} given",
                       detail::text_of(page_table)));
    const Extents &e = q.extents(), &p = k_pages.extents();
    const std::int64_t heads = p[1] > 0 && e[1] % p[1] == 0 ? p[1] : e[1];
    shape_ = {e[0], e[1], e[2], e[3], p[2], page_table.extents()[1], heads > 0 ? e[1] / heads : 1};
    if (p[2] < 1) fail(fmt::format("expected pages of at least one row; k_pages is {}", detail::text_of(k_pages)));
    expect(k_pages, "k_pages", {p[0], heads, p[2], e[3]}, q.type());
    expect(v_pages, "v_pages", {p[0], heads, p[2], e[3]}, q.type());
    expect(page_table, "a page_table", {e[0], shape_.most_pages}, ScalarType::Int32);
  }

  const PagedAttentionShape &shape() const { return shape_; }

 private:
  PagedAttentionShape shape_{};
};

}  // namespace

PagedAttentionLaunches paged_attention_launches(ScalarType type, const PagedAttentionShape &shape,
                                                std::optional<int> parts, const PlanDevice &device,
                                                SourceLocation where) {
  if (shape.size > detail::largest_attention_size)
    throw UserError(where, fmt::format("paged_attention: expected up to {} numbers for each row of a head; {} given: "
                                       "have more heads",
                                       detail::largest_attention_size, shape.size));
  constexpr std::int64_t most_rows = 64;
  const int heads = heads_of_tile(shape, device);
  if (heads * shape.rows > most_rows)
    throw UserError(where, fmt::format("paged_attention: expected up to {} rows of q for each head of the pages, of "
                                       "all heads that share it; {} given: use packed_attention for longer ones",
                                       most_rows, shape.heads_of_key * shape.rows));
  PagedPlan plan{.heads = heads,
                 .heads_of_key = static_cast<int>(shape.heads_of_key),
                 .rows = static_cast<int>(shape.rows),
                 .keys = tile_of_page(shape.page_rows),
                 .size = static_cast<int>(detail::round_up(std::max<std::int64_t>(shape.size, 1), 16)),
                 .threads = device.is_cpu() ? 32 : 128,
                 .stages = 2};
  plan.tiles_of_page = static_cast<int>(shape.page_rows / plan.keys);
  plan.parts = parts.value_or(part_count(shape, plan.keys, device));
  if (size_of(type) == 8 || plan.size > 128) plan.stages = 1;
  PagedPlan combined;  // does not depend on the others
  combined.rows = plan.rows, combined.size = plan.size, combined.threads = plan.threads;
  const Extents blocks{shape.sequences, shape.heads / shape.heads_of_key, plan.parts};
  switch (type) {
#define SAMITE_CASE(T)                                                                \
  case scalar_type_of<T>: {                                                           \
    auto &made = Made<T>::all();                                                      \
    return {{made.parts.at(plan).definition(), blocks},                               \
            {made.combine.at(combined).definition(), {shape.sequences, shape.heads}}, \
            plan.parts};                                                              \
  }
    SAMITE_ROW_TYPES(SAMITE_CASE)
#undef SAMITE_CASE
    default: detail::refuse_row_type("paged_attention", type, where);
  }
}

void paged_attention(const AnyBuffer &q, const AnyBuffer &k_pages, const AnyBuffer &v_pages,
                     const AnyBuffer &page_table, const AnyBuffer &lengths, const AnyBuffer &out,
                     const AnyBuffer &row_sums, const PagedAttentionOptions &options, SourceLocation where) {
  const Check check(q, k_pages, v_pages, page_table, where);
  const PagedAttentionShape &shape = check.shape();
  const ScalarType sums = detail::row_number_type(q.type());
  check.expect(lengths, "lengths", {shape.sequences}, ScalarType::Int32);
  check.expect(out, "out", q.extents(), q.type());
  check.expect(row_sums, "row_sums", {shape.sequences, shape.heads, shape.rows}, sums);
  constexpr std::int64_t farthest = std::int64_t{1} << 30;
  if (options.window.value_or(1) < 1)
    check.fail(fmt::format("expected a window of at least one row; {} given", *options.window));
  if (options.parts.value_or(1) < 1) check.fail(fmt::format("expected at least one part; {} given", *options.parts));
  if (jit::TapeAccess::recording() && (q.tracks_gradient() || k_pages.tracks_gradient() || v_pages.tracks_gradient()))
    check.fail(
        "there is no gradient of attention to pages: give arrays that track none, or use packed_attention, "
        "which has one");
  if (q.count() == 0) return;
  const PagedAttentionLaunches planned =
      paged_attention_launches(q.type(), shape, options.parts, plan_device(q.device()), where);
  const Extents places{planned.part_count, shape.sequences * shape.heads, shape.rows};
  const AnyBuffer part_results(q.device(), sums, {places[0], places[1], places[2], shape.size}),
      part_sums(q.device(), sums, places);
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(shape.size)));
  const auto before = static_cast<std::int32_t>(std::min(options.window.value_or(farthest + 1) - 1, farthest));
  detail::launch_planned(planned.parts,
                         {{&q},
                          {&k_pages},
                          {&v_pages},
                          {&page_table},
                          {&lengths},
                          {&part_results},
                          {&part_sums},
                          detail::number(scale, sums),
                          {nullptr, static_cast<std::uint32_t>(before)}},
                         where, options.stream);
  detail::launch_planned(planned.combine, {{&part_results}, {&part_sums}, {&out}, {&row_sums}}, where, options.stream);
}

}  // namespace samite::ops
