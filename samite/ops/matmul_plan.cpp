#include "samite/ops/matmul_plan.h"

#include "samite/passes/sm90/share_steps.h"
#include "samite/passes/tiles/factor_copies.h"

#include <algorithm>
#include <bit>
#include <span>

namespace samite::ops {
namespace {

// The largest first. A warp group has 64 rows: if there are fewer, missing ones are not read, and more stages are in
// flight, since memory is the limit.
//
// Before them, for results of several waves of blocks, a plan whose blocks have two teams of one warp group
// (passes/sm90/form_teams.h), which hide each other's epilogues. These read more of the factors, so in 16 bits the plan
// is for short sums and for many waves: on an H200, 8192 x 8192 x 1024 takes 0.228 ms in teams and 0.251 ms without,
// 8192 x 8192 x 8192 takes 1.55 and 1.60 ms, and 4096 x 4096 x 4096 takes 0.198 and 0.188 ms. Loops of 8 bits are half
// as long: 8192 x 4096 x 1024 takes 0.069 and 0.081 ms, 8192 x 8192 x 8192 takes 0.861 and 0.885 ms.
constexpr std::int64_t rounds_of_teams = 4, most_terms_of_teams = 2048, rounds_of_long_sums = 16;
constexpr MatmulPlan groups_of_warps[] = {{128, 128, 64, 128, 6},
                                          {128, 256, 64, 256, 4},
                                          {128, 128, 64, 256, 6},
                                          {64, 128, 64, 128, 8},
                                          {64, 64, 128, 128, 6}};
// With few blocks, the estimated fastest of these is chosen, of one group or two.
constexpr MatmulPlan for_few_blocks[] = {
    groups_of_warps[1], {128, 192, 64, 256, 5}, groups_of_warps[2], groups_of_warps[3], groups_of_warps[4]};
constexpr MatmulPlan sixteen_bits[] = {{128, 128, 32, 256, 3}, {64, 64, 32, 128, 3}, {16, 64, 64, 128, 3}};
constexpr MatmulPlan eight_bits[] = {{128, 128, 64, 256, 3}, {64, 64, 64, 128, 3}, {16, 64, 64, 128, 3}};
// The first one has a multiprocessor of compute capability 9.0 to itself.
constexpr MatmulPlan threads_multiply[] = {
    {128, 256, 64, 256, 2}, {128, 128, 32, 256, 2}, {64, 64, 32, 128, 2}, {16, 64, 32, 128, 2}};
constexpr MatmulPlan rounded_to_tf32[] = {{128, 128, 32, 128, 2}, {64, 64, 32, 128, 2}, {16, 64, 32, 128, 2}};
// Loops with interleaved copies (passes/tiles/multiply_ahead.h). The second fits three blocks on a multiprocessor of an
// H200; its warps read more for each product, and take as long.
constexpr MatmulPlan doubles[] = {
    {64, 128, 16, 128, 3}, {64, 64, 16, 128, 4}, {32, 32, 16, 128, 3}, {16, 32, 16, 128, 3}};
// For warp groups, if a sum's terms are contiguous.
constexpr MatmulPlan groups_of_eight_bits[] = {{128, 128, 128, 128, 6},
                                               {128, 256, 128, 256, 4},
                                               {128, 128, 128, 256, 6},
                                               {64, 128, 128, 128, 8},
                                               {64, 64, 256, 128, 6}};
constexpr MatmulPlan groups_of_tf32[] = {
    {128, 256, 32, 256, 4}, {128, 128, 32, 256, 4}, {64, 128, 32, 128, 4}, {64, 64, 32, 128, 6}, {64, 32, 32, 128, 8}};
// If b's terms are not, so that warp groups multiply the transposes (passes/sm90/group_sums.h).
constexpr MatmulPlan turned_groups_of_tf32[] = {
    {256, 128, 32, 256, 4}, {128, 128, 32, 256, 6}, {128, 64, 32, 128, 4}, {64, 64, 32, 128, 6}, {32, 64, 32, 128, 8}};
// A thread has the sums of 128 terms in addition to the total sums. The stages fill a multiprocessor, so that the block
// has producer warps (passes/sm90/assign_roles.h). A tile with more columns than a block of scales is multiplied in
// parts of this many, if bulk copies load its scales as well. Three groups hide more of each other's additions than
// two, but such high tiles leave more of the last wave idle: it is for results of many waves, and comes first.
constexpr std::int64_t rounds_of_three_groups = 10;
constexpr MatmulPlan scaled_beside[] = {{128, 256, 128, 256, 4},
                                        {128, 128, 128, 256, 6},
                                        {64, 128, 128, 128, 6},
                                        {64, 64, 128, 128, 8},
                                        {64, 32, 128, 128, 10}};
constexpr MatmulPlan scaled_by_blocks[] = {{192, 128, 128, 384, 4},
                                           {128, 128, 128, 256, 6},
                                           {64, 128, 128, 128, 6},
                                           {64, 64, 128, 128, 8},
                                           {64, 32, 128, 128, 10}};
constexpr MatmulPlan scaled_by_blocks_in_warps[] = {
    {128, 128, 128, 256, 3}, {64, 64, 128, 128, 3}, {16, 64, 128, 128, 3}};
// A thread of the CPU has its tile of the result in its first-level cache.
constexpr MatmulPlan cpu[] = {{64, 64, 64, 32, 1}, {16, 64, 64, 32, 1}, {4, 64, 64, 32, 1}, {1, 64, 64, 32, 1}};
constexpr MatmulPlan cpu_scaled_by_blocks[] = {
    {64, 64, 128, 32, 1}, {16, 64, 128, 32, 1}, {4, 64, 128, 32, 1}, {1, 64, 128, 32, 1}};

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

// Whether warp groups multiply on such a GPU (compute capability 9.0), rather than single warps or threads.
bool groups_multiply(const MatmulShape &shape, const MatmulFactors &factors, int capability) {
  if (capability / 10 != 9) return false;
  if (factors.type == ScalarType::Float16 || factors.type == ScalarType::BFloat16) return true;
  const bool rounded = factors.type == ScalarType::Float32 && factors.precision != tile::Precision::full;
  if (size_of(factors.type) != 1 && !rounded) return false;
  return terms_can_be_together(shape, factors);
}

std::span<const MatmulPlan> plans(const MatmulShape &shape, const MatmulFactors &factors, int capability) {
  const bool groups = groups_multiply(shape, factors, capability);
  if (capability == 0 && factors.block_scales) return cpu_scaled_by_blocks;
  if (capability == 0) return cpu;
  switch (factors.type) {
    case ScalarType::Float16:
    case ScalarType::BFloat16:
      if (groups) return groups_of_warps;
      return sixteen_bits;
    case ScalarType::Float64: return doubles;
    case ScalarType::Float32:
      if (factors.precision == tile::Precision::full)
        return std::span(threads_multiply).subspan(capability / 10 == 9 ? 0 : 1);
      if (groups && !factors.transposed.b) return turned_groups_of_tf32;
      if (groups) return groups_of_tf32;
      return rounded_to_tf32;
    default:
      if (size_of(factors.type) != 1) return std::span(threads_multiply).subspan(1);
      if (factors.scales_beside && groups) return scaled_beside;
      // A block of rows with one scale needs whole tiles.
      if (factors.block_scales && groups) return std::span(scaled_by_blocks).subspan(factors.row_blocks ? 1 : 0);
      if (factors.block_scales) return scaled_by_blocks_in_warps;
      if (groups) return groups_of_eight_bits;
      return eight_bits;
  }
}

// Whether a block's stages leave no room for another block on a multiprocessor.
bool fills_shared_memory(const MatmulPlan &plan, ScalarType factor) {
  constexpr std::int64_t half = 113 << 10;
  return static_cast<std::int64_t>(size_of(factor)) * (plan.rows + plan.columns) * plan.inner * plan.stages > half;
}

bool in_teams(const MatmulPlan &plan) { return plan == groups_of_warps[0] || plan == groups_of_eight_bits[0]; }

// Grouped rows are not worth it: blocks at the end of a group have little to multiply. Loops whose terms have a limit
// have a barrier of all consumers. An adjoint that recomputes the sums adds over blocks, and its warp groups wait for
// these additions, a single group only for its own.
bool may_have_teams(const MatmulFactors &factors) {
  return !factors.rows_vary && !factors.terms_vary && !factors.differentiated;
}

// The waves of blocks that a plan is for; 0: it may be for one wave.
std::int64_t least_rounds(const MatmulPlan &plan, const MatmulShape &shape, const MatmulFactors &factors) {
  if (plan.rows == scaled_by_blocks[0].rows) return rounds_of_three_groups;
  if (!in_teams(plan)) return 0;
  const bool soon_over = size_of(factors.type) == 1 || shape.inner <= most_terms_of_teams;
  return soon_over ? rounds_of_teams : rounds_of_long_sums;
}

// Much of a higher tile would be outside of the result.
std::int64_t most_rows_of_a_tile(const MatmulShape &shape, std::span<const MatmulPlan> kind) {
  const auto rows = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(shape.rows)));
  return std::max<std::int64_t>(rows, kind.back().rows);
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

// The split-K parts that the launch of such a plan will have (passes/sm90/share_steps.h).
std::int64_t parts_of(const MatmulShape &shape, const MatmulPlan &plan, const PlanDevice &device) {
  return passes::parts_of_steps(matmul_blocks(shape, plan).count(), detail::ceil_div(shape.inner, plan.inner),
                                device.multiprocessors);
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

MatmulPlan matmul_plan(const MatmulShape &shape, const MatmulFactors &factors, const PlanDevice &device) {
  const auto candidates = plans(shape, factors, device.compute_capability);
  const std::int64_t most_rows = most_rows_of_a_tile(shape, candidates);
  // A block of warp groups has a multiprocessor to itself, and takes nearly as long for few columns as for many: one
  // wave of blocks with a quarter of the multiprocessors idle is faster than two waves. On an H100 a product of 64 x
  // 7168 x 4096 in 8 bits takes 9.2 us in 112 blocks, and 13.4 us in 224 of half the columns.
  const bool groups = groups_multiply(shape, factors, device.compute_capability);
  const auto enough = [&](const MatmulPlan &plan) {
    const bool alone = groups || factors.block_scales || fills_shared_memory(plan, factors.type);
    return alone ? device.multiprocessors * 3 / 4 : device.multiprocessors;
  };
  const auto found = std::ranges::find_if(candidates, [&](const MatmulPlan &plan) {
    if (plan.rows > most_rows) return false;
    if (in_teams(plan) && !may_have_teams(factors)) return false;
    const std::int64_t rounds = least_rounds(plan, shape, factors);
    const std::int64_t least = rounds != 0 ? rounds * device.multiprocessors : enough(plan);
    return device.is_cpu() || matmul_blocks(shape, plan).count() >= least;
  });
  MatmulPlan plan = found == candidates.end() ? candidates.back() : *found;
  // Tiles that use most multiprocessors, or split-K loops. With few rows memory is the limit.
  constexpr std::int64_t few_rounds = 2;
  const bool few = matmul_blocks(shape, plan).count() <= few_rounds * device.multiprocessors;
  const bool may_share = !factors.rows_vary && !factors.terms_vary;
  if (candidates.data() == groups_of_warps && few && may_share && shape.rows > groups_of_warps[3].rows)
    for (const MatmulPlan &other : for_few_blocks)
      if (other.rows <= most_rows && !has_too_large_parts(shape, other, device) &&
          estimated_cycles(shape, other, device) < estimated_cycles(shape, plan, device))
        plan = other;
  // Scales that threads load row by row are loaded per element if a group's 64 rows do not all exist.
  const bool loads_scales = factors.block_scales && !factors.scales_beside;
  if (groups && !factors.transposed.a && !factors.rows_vary && !loads_scales && shape.rows < plan.rows)
    shorten(plan, shape, factors);
  // In several waves two blocks of one warp group, each with half of the stages, overlap their prologues and epilogues.
  // In one wave a block has all stages.
  const bool rounds = matmul_blocks(shape, plan).count() > device.multiprocessors;
  if (groups && !factors.block_scales && rounds && plan.threads == 128 && !in_teams(plan) &&
      fills_shared_memory(plan, factors.type))
    plan.stages /= 2;
  return plan;
}

std::vector<MatmulPlan> matmul_candidates(const MatmulShape &shape, const MatmulFactors &factors,
                                          const PlanDevice &device) {
  const auto kind = plans(shape, factors, device.compute_capability);
  std::vector<MatmulPlan> candidates{matmul_plan(shape, factors, device)};
  const auto add = [&](const MatmulPlan &plan) {
    if (std::ranges::find(candidates, plan) == candidates.end()) candidates.push_back(plan);
  };
  const auto add_all = [&](std::span<const MatmulPlan> plans) {
    for (const MatmulPlan &plan : plans)
      if (plan.rows <= most_rows_of_a_tile(shape, kind) && (!in_teams(plan) || may_have_teams(factors))) add(plan);
  };
  add_all(kind);
  if (kind.data() == groups_of_warps) add_all(for_few_blocks);
  if (device.is_cpu()) return candidates;
  for (const int more : {-1, 1}) {
    MatmulPlan other = candidates.front();
    other.stages += more;
    if (other.stages > 1) add(other);
  }
  return candidates;
}

}  // namespace samite::ops
