#include "samite/ops/matmul_plan.h"

#include "samite/passes/tiles/automatic_plan.h"
#include "samite/passes/tiles/factor_copies.h"

#include <algorithm>
#include <bit>
#include <span>

namespace samite::ops {
namespace {

// A plan of a list, and the launches that it is for.
struct Listed {
  MatmulPlan plan;
  // Its blocks form two teams in launches of several waves (passes/sm90/form_teams.h).
  bool in_teams = false;
  // The least number of waves of blocks; and that for 16 bits and long sums. 0: also for one wave.
  std::int64_t waves = 0, waves_of_long_sums = waves;
};

// The largest first. A warp group has 64 rows: if there are fewer, missing ones are not read, and more stages are in
// flight, since memory is the limit.
//
// Before them, for results of several waves of blocks, a plan whose blocks have two teams of one warp group, which hide
// each other's epilogues. These read more of the factors, so in 16 bits the plan is for short sums and for many waves:
// on an H200, 8192 x 8192 x 1024 takes 0.228 ms in teams and 0.251 ms without, 8192 x 8192 x 8192 takes 1.55 and 1.60
// ms, and 4096 x 4096 x 4096 takes 0.198 and 0.188 ms. Loops of 8 bits are half as long: 8192 x 4096 x 1024 takes 0.069
// and 0.081 ms, 8192 x 8192 x 8192 takes 0.861 and 0.885 ms.
constexpr std::int64_t waves_of_teams = 4, most_terms_of_teams = 2048, waves_of_long_sums = 16;
constexpr Listed groups_of_warps[] = {{{128, 128, 64, 128, 6}, /*in_teams=*/true, waves_of_teams, waves_of_long_sums},
                                      {{128, 256, 64, 256, 4}},
                                      {{128, 128, 64, 256, 6}},
                                      {{64, 128, 64, 128, 8}},
                                      {{64, 64, 128, 128, 6}}};
// With few blocks, the estimated fastest of these is chosen, of one group or two.
constexpr Listed for_few_blocks[] = {
    groups_of_warps[1], {{128, 192, 64, 256, 5}}, groups_of_warps[2], groups_of_warps[3], groups_of_warps[4]};
constexpr Listed sixteen_bits[] = {{{128, 128, 32, 256, 3}}, {{64, 64, 32, 128, 3}}, {{16, 64, 64, 128, 3}}};
constexpr Listed eight_bits[] = {{{128, 128, 64, 256, 3}}, {{64, 64, 64, 128, 3}}, {{16, 64, 64, 128, 3}}};
// The first one has a multiprocessor to itself, if a block's shared memory has room for it.
constexpr Listed threads_multiply[] = {
    {{128, 256, 64, 256, 2}}, {{128, 128, 32, 256, 2}}, {{64, 64, 32, 128, 2}}, {{16, 64, 32, 128, 2}}};
constexpr Listed rounded_to_tf32[] = {{{128, 128, 32, 128, 2}}, {{64, 64, 32, 128, 2}}, {{16, 64, 32, 128, 2}}};
// Loops with interleaved copies (passes/tiles/multiply_ahead.h). The second fits three blocks on a multiprocessor of an
// H200; its warps read more for each product, and take as long.
constexpr Listed doubles[] = {
    {{64, 128, 16, 128, 3}}, {{64, 64, 16, 128, 4}}, {{32, 32, 16, 128, 3}}, {{16, 32, 16, 128, 3}}};
// For warp groups, if a sum's terms are contiguous.
constexpr Listed groups_of_eight_bits[] = {{{128, 128, 128, 128, 6}, /*in_teams=*/true, waves_of_teams},
                                           {{128, 256, 128, 256, 4}},
                                           {{128, 128, 128, 256, 6}},
                                           {{64, 128, 128, 128, 8}},
                                           {{64, 64, 256, 128, 6}}};
constexpr Listed groups_of_tf32[] = {{{128, 256, 32, 256, 4}},
                                     {{128, 128, 32, 256, 4}},
                                     {{64, 128, 32, 128, 4}},
                                     {{64, 64, 32, 128, 6}},
                                     {{64, 32, 32, 128, 8}}};
// If b's terms are not, so that warp groups multiply the transposes (passes/sm90/group_sums.h).
constexpr Listed turned_groups_of_tf32[] = {{{256, 128, 32, 256, 4}},
                                            {{128, 128, 32, 256, 6}},
                                            {{128, 64, 32, 128, 4}},
                                            {{64, 64, 32, 128, 6}},
                                            {{32, 64, 32, 128, 8}}};
// A thread has the sums of 128 terms in addition to the total sums. The stages fill a multiprocessor, so that the block
// has producer warps (passes/sm90/assign_roles.h). A tile with more columns than a block of scales is multiplied in
// parts of this many, if bulk copies load its scales as well. Three groups hide more of each other's additions than
// two, but such high tiles leave more of the last wave idle: it is for results of many waves, and comes first.
constexpr std::int64_t waves_of_three_groups = 10;
constexpr Listed scaled_beside[] = {{{128, 256, 128, 256, 4}},
                                    {{128, 128, 128, 256, 6}},
                                    {{64, 128, 128, 128, 6}},
                                    {{64, 64, 128, 128, 8}},
                                    {{64, 32, 128, 128, 10}}};
constexpr Listed scaled_by_blocks[] = {{{192, 128, 128, 384, 4}, /*in_teams=*/false, waves_of_three_groups},
                                       {{128, 128, 128, 256, 6}},
                                       {{64, 128, 128, 128, 6}},
                                       {{64, 64, 128, 128, 8}},
                                       {{64, 32, 128, 128, 10}}};
constexpr Listed scaled_by_blocks_in_warps[] = {
    {{128, 128, 128, 256, 3}}, {{64, 64, 128, 128, 3}}, {{16, 64, 128, 128, 3}}};
// A thread of the CPU has its tile of the result in its first-level cache.
constexpr Listed cpu[] = {{{64, 64, 64, 32, 1}}, {{16, 64, 64, 32, 1}}, {{4, 64, 64, 32, 1}}, {{1, 64, 64, 32, 1}}};
constexpr Listed cpu_scaled_by_blocks[] = {
    {{64, 64, 128, 32, 1}}, {{16, 64, 128, 32, 1}}, {{4, 64, 128, 32, 1}}, {{1, 64, 128, 32, 1}}};

// Whether warp groups can multiply factors that are not of 16 bits. They need contiguous terms of each sum, except for
// b of 32 bits; a launch may copy a factor to achieve that.
bool terms_can_be_together(const MatmulShape &shape, const MatmulFactors &factors) {
  const bool b_as_it_is = factors.transposed.b || size_of(factors.type) == 4;
  if (b_as_it_is && !factors.transposed.a) return true;
  if (!factors.copied_where_that_pays) return false;
  const auto pays = [&](std::int64_t extent, std::int64_t multiplications) {
    return passes::pays(static_cast<double>(shape.batches) * static_cast<double>(extent * shape.inner),
                        static_cast<double>(multiplications), true);
  };
  return (!factors.transposed.a || pays(shape.rows, shape.columns)) && (b_as_it_is || pays(shape.columns, shape.rows));
}

// Whether warp groups multiply, rather than single warps or threads.
bool groups_multiply(const MatmulShape &shape, const MatmulFactors &factors, const PlanDevice &device) {
  const passes::Multiplication *row = device.architecture().multiplication_of_groups(factors.type);
  if (!row || factors.by_single_warps || (row->tf32 && factors.precision == tile::Precision::full)) return false;
  return !row->terms_together || terms_can_be_together(shape, factors);
}

std::int64_t bytes_of_stages(const MatmulPlan &plan, ScalarType factor) {
  return static_cast<std::int64_t>(size_of(factor)) * (plan.rows + plan.columns) * plan.inner * plan.stages;
}

// The plans for such factors, and those that may be faster in launches of few blocks.
struct Plans {
  std::span<const Listed> all, few = {};
};

// Those whose stages a block's shared memory has room for; the largest come first.
std::span<const Listed> with_room(std::span<const Listed> plans, ScalarType factor, const PlanDevice &device) {
  while (plans.size() > 1 && bytes_of_stages(plans.front().plan, factor) > device.shared_bytes())
    plans = plans.subspan(1);
  return plans;
}

Plans plans(const MatmulShape &shape, const MatmulFactors &factors, const PlanDevice &device) {
  const bool groups = groups_multiply(shape, factors, device);
  if (device.is_cpu() && factors.block_scales) return {cpu_scaled_by_blocks};
  if (device.is_cpu()) return {cpu};
  switch (factors.type) {
    case ScalarType::Float16:
    case ScalarType::BFloat16:
      if (groups) return {groups_of_warps, for_few_blocks};
      return {sixteen_bits};
    case ScalarType::Float64: return {doubles};
    case ScalarType::Float32:
      if (factors.precision == tile::Precision::full) return {with_room(threads_multiply, factors.type, device)};
      if (groups && !factors.transposed.b) return {turned_groups_of_tf32};
      if (groups) return {groups_of_tf32};
      return {rounded_to_tf32};
    default:
      if (size_of(factors.type) != 1) return {std::span(threads_multiply).subspan(1)};
      if (factors.scales_beside && groups) return {scaled_beside};
      // A block of rows with one scale needs whole tiles.
      if (factors.block_scales && groups) return {std::span(scaled_by_blocks).subspan(factors.row_blocks ? 1 : 0)};
      if (factors.block_scales) return {scaled_by_blocks_in_warps};
      if (groups) return {groups_of_eight_bits};
      return {eight_bits};
  }
}

// Whether a block's stages leave no room for another block on a multiprocessor.
bool fills_shared_memory(const MatmulPlan &plan, ScalarType factor, const PlanDevice &device) {
  return !device.is_cpu() && device.architecture().blocks_with_room(bytes_of_stages(plan, factor)) < 2;
}

// Whether a plan may be chosen for such factors. Teams are not for grouped rows: blocks at the end of a group have
// little to multiply. Loops whose terms have a limit have a barrier of all consumers. An adjoint that recomputes the
// sums adds over blocks, for which its warp groups wait, and a single group for itself.
bool may_be_chosen(const Listed &listed, const MatmulFactors &factors) {
  return !listed.in_teams || !(factors.rows_vary || factors.terms_vary || factors.differentiated);
}

// The least number of waves of blocks of such a product.
std::int64_t least_waves(const Listed &listed, const MatmulShape &shape, const MatmulFactors &factors) {
  const bool soon_over = size_of(factors.type) == 1 || shape.inner <= most_terms_of_teams;
  return soon_over ? listed.waves : listed.waves_of_long_sums;
}

// Much of a higher tile would be outside of the result.
std::int64_t most_rows_of_a_tile(const MatmulShape &shape, std::span<const Listed> kind) {
  const auto rows = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(shape.rows)));
  return std::max<std::int64_t>(rows, kind.back().plan.rows);
}

// Shortens tiles to the existing rows, for warp groups. On an H200 copies of windows that are mostly outside of an
// array take longer than whole ones: with 64 rows a product of 16 x 8192 x 8192 in 8 bits takes 31 us, and 22 us if all
// rows exist. Memory limits such products, so as many stages as fit are in flight.
void shorten(MatmulPlan &plan, const MatmulShape &shape, const MatmulFactors &factors) {
  constexpr std::int64_t bytes_of_stages = 192 << 10, most_stages = 16;
  // The rows are terms of b's gradient; an instruction multiplies 16 of them.
  const std::int64_t step = factors.differentiated && size_of(factors.type) == 2 ? 16 : 8;
  const auto rows = static_cast<std::uint64_t>(detail::round_up(std::max<std::int64_t>(shape.rows, 1), step));
  // A block of rows with one scale needs whole tiles.
  plan.rows = static_cast<int>(factors.row_blocks ? std::bit_ceil(rows) : rows);
  const std::int64_t bytes = static_cast<std::int64_t>(size_of(factors.type)) * (plan.rows + plan.columns) * plan.inner;
  plan.stages = static_cast<int>(std::clamp<std::int64_t>(bytes_of_stages / bytes, plan.stages, most_stages));
}

// The split-K parts of a launch of such a plan, by the blocks of clusters.
std::int64_t parts_of(const MatmulShape &shape, const MatmulPlan &plan, const PlanDevice &device) {
  constexpr std::int64_t bytes_of_sum = 4;
  return passes::automatic_parts(matmul_blocks(shape, plan).count(), detail::ceil_div(shape.inner, plan.inner),
                                 bytes_of_sum * plan.rows * plan.columns, device.multiprocessors)
      .in_cluster;
}

// Cycles of a 16-bit product by warp groups, without common costs, in blocks of such tiles and with the launch's
// split-K parts. Measured on an H200. A multiprocessor's tensor cores add 2,048 products in a cycle, or 94 % of them.
// Or it waits for its windows: it gets up to 64 bytes in a cycle from the level-2 cache, and all together get 7,550, or
// 5,700 if each element is read fewer than ten times. The epilogue takes time in proportion to a tile's elements, and
// so does the reduction of parts.
double estimated_cycles(const MatmulShape &shape, const MatmulPlan &plan, const PlanDevice &device) {
  constexpr double products = 2048 * 0.94, most_of_one = 64, of_all = 7550, of_all_apart = 5700, often = 10;
  constexpr double after_loop = 0.2, of_parts = 2700, adding_up = 0.25;
  const std::int64_t blocks = matmul_blocks(shape, plan).count();
  const std::int64_t steps = detail::ceil_div(shape.inner, plan.inner);
  const std::int64_t parts = parts_of(shape, plan, device);
  const double elements = static_cast<double>(plan.rows) * plan.columns,
               of_step = 2.0 * (plan.rows + plan.columns) * plan.inner;
  const double of_factors =
      2.0 * static_cast<double>(shape.batches) * static_cast<double>((shape.rows + shape.columns) * shape.inner);
  const double read = static_cast<double>(blocks * steps) * of_step;
  const auto reading = static_cast<double>(std::min<std::int64_t>(blocks * parts, device.multiprocessors));
  const double rate = std::min(most_of_one, (read < often * of_factors ? of_all_apart : of_all) / reading);
  const double step = std::max(elements * plan.inner / products, of_step / rate);
  const auto rounds = static_cast<double>(detail::ceil_div(blocks, device.multiprocessors));
  const double once = static_cast<double>(detail::ceil_div(steps, parts)) * step + after_loop * elements;
  return rounds * once + (parts == 1 ? 0 : of_parts + adding_up * elements);
}

// With a larger tile, a thread has more sums than registers for reducing parts.
bool has_too_large_parts(const MatmulShape &shape, const MatmulPlan &plan, const PlanDevice &device) {
  constexpr std::int64_t most = std::int64_t{128} * 128;
  return std::int64_t{plan.rows} * plan.columns > most && parts_of(shape, plan, device) > 1;
}

}  // namespace

Extents matmul_blocks(const MatmulShape &shape, const MatmulPlan &plan, bool in_batches) {
  const std::int64_t down = detail::ceil_div(shape.rows, plan.rows);
  const std::int64_t across = detail::ceil_div(shape.columns, plan.columns);
  return in_batches ? Extents{shape.batches, down, across} : Extents{down, across};
}

MatmulPlan obeying(const TilePlan &asked, MatmulPlan plan) {
  plan.rows = asked.rows.value_or(plan.rows);
  plan.columns = asked.columns.value_or(plan.columns);
  plan.inner = asked.inner.value_or(plan.inner);
  plan.threads = asked.threads.value_or(plan.threads);
  plan.stages = asked.stages.value_or(plan.stages);
  return plan;
}

MatmulPlan matmul_plan(const MatmulShape &shape, const MatmulFactors &factors, const PlanDevice &device) {
  const Plans kind = plans(shape, factors, device);
  const std::int64_t most_rows = most_rows_of_a_tile(shape, kind.all);
  // A block of warp groups has a multiprocessor to itself, and takes nearly as long for few columns as for many: one
  // wave of blocks with a quarter of the multiprocessors idle is faster than two waves. On an H100 a product of 64 x
  // 7168 x 4096 in 8 bits takes 9.2 us in 112 blocks, and 13.4 us in 224 of half the columns.
  const bool groups = groups_multiply(shape, factors, device);
  const auto enough = [&](const MatmulPlan &plan) {
    const bool alone = groups || factors.block_scales || fills_shared_memory(plan, factors.type, device);
    return alone ? device.multiprocessors * 3 / 4 : device.multiprocessors;
  };
  const auto found = std::ranges::find_if(kind.all, [&](const Listed &listed) {
    if (listed.plan.rows > most_rows || !may_be_chosen(listed, factors)) return false;
    const std::int64_t waves = least_waves(listed, shape, factors);
    const std::int64_t least = waves != 0 ? waves * device.multiprocessors : enough(listed.plan);
    return device.is_cpu() || matmul_blocks(shape, listed.plan).count() >= least;
  });
  Listed chosen = found == kind.all.end() ? kind.all.back() : *found;
  // Tiles that use most multiprocessors, or split-K loops. With few rows memory is the limit.
  constexpr std::int64_t few_waves = 2, fewest_rows = 64;
  const bool few = matmul_blocks(shape, chosen.plan).count() <= few_waves * device.multiprocessors;
  const bool may_share = !factors.rows_vary && !factors.terms_vary;
  if (few && may_share && shape.rows > fewest_rows)
    for (const Listed &other : kind.few)
      if (other.plan.rows <= most_rows && !has_too_large_parts(shape, other.plan, device) &&
          estimated_cycles(shape, other.plan, device) < estimated_cycles(shape, chosen.plan, device))
        chosen = other;
  MatmulPlan plan = chosen.plan;
  // Scales that threads load row by row are loaded per element if a group's 64 rows do not all exist.
  const bool loads_scales = factors.block_scales && !factors.scales_beside;
  if (groups && !factors.transposed.a && !factors.rows_vary && !loads_scales && shape.rows < plan.rows)
    shorten(plan, shape, factors);
  // In several waves two blocks of one warp group, each with half of the stages, overlap their prologues and epilogues.
  // In one wave a block has all stages.
  const bool waves = matmul_blocks(shape, plan).count() > device.multiprocessors;
  if (groups && !factors.block_scales && waves && plan.threads == 128 && !chosen.in_teams &&
      fills_shared_memory(plan, factors.type, device))
    plan.stages /= 2;
  return plan;
}

std::vector<MatmulPlan> matmul_candidates(const MatmulShape &shape, const MatmulFactors &factors,
                                          const PlanDevice &device) {
  const Plans kind = plans(shape, factors, device);
  std::vector<MatmulPlan> candidates{matmul_plan(shape, factors, device)};
  const auto add = [&](const MatmulPlan &plan) {
    if (std::ranges::find(candidates, plan) == candidates.end()) candidates.push_back(plan);
  };
  for (const std::span<const Listed> plans : {kind.all, kind.few})
    for (const Listed &listed : plans)
      if (listed.plan.rows <= most_rows_of_a_tile(shape, kind.all) && may_be_chosen(listed, factors)) add(listed.plan);
  if (device.is_cpu()) return candidates;
  for (const int more : {-1, 1}) {
    MatmulPlan other = candidates.front();
    other.stages += more;
    if (other.stages > 1) add(other);
  }
  return candidates;
}

}  // namespace samite::ops
