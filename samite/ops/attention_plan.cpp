#include "samite/ops/attention_plan.h"

#include "samite/ops/matmul_plan.h"
#include "samite/passes/tiles/factor_copies.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace samite::ops::detail {
namespace {

// Tiles of equal heights, as far as possible: rows beyond the last take as long as others.
constexpr std::int64_t highest_on_cpu = 64;
std::int64_t height_on_cpu(std::int64_t rows) {
  rows = std::max<std::int64_t>(rows, 1);
  return ceil_div(rows, ceil_div(rows, highest_on_cpu));
}
// A product keeps up to 8 rows in registers.
int queries_on_cpu(std::int64_t rows) {
  const auto height = static_cast<std::uint64_t>(height_on_cpu(rows));
  return static_cast<int>(height < 8 ? std::bit_ceil(height) : round_up(height_on_cpu(rows), 8));
}
// Whole registers.
int keys_on_cpu(std::int64_t rows) { return static_cast<int>(round_up(height_on_cpu(rows), 16)); }

// Whether bulk copies can read 16-bit rows of q and k: they begin at multiples of 16 bytes, or copies of them that do
// pay for themselves (passes/tiles/factor_copies.h).
bool by_bulk_copies(const AttentionShape &shape) {
  constexpr std::int64_t fewest = 256;
  return shape.size % 8 == 0 ||
         (std::min(shape.rows, shape.terms) >= fewest &&
          passes::pays(static_cast<double>(shape.batches * shape.heads * shape.rows * shape.size),
                       static_cast<double>(shape.terms), /*swapped=*/false));
}

constexpr int fewest_rows = 8;
int threads_of(int size) { return size > 64 ? 256 : 128; }  // sums must fit registers

// Bytes of shared memory for a block's own rows, the windows of the other side, and the products that become factors.
// If a window for each stage does not fit, all but one of the two that an iteration loads have one stage
// (passes/tiles/stage_loads.h), except in of_keys, where both are factors of two products.
std::int64_t shared_bytes(const AttentionPlan &plan, ScalarType type, const PlanDevice &device, AttentionPart part) {
  const auto element = static_cast<std::int64_t>(size_of(type));
  const bool of_keys = part == AttentionPart::of_keys;
  const std::int64_t own = of_keys ? plan.keys : plan.queries, others = of_keys ? plan.queries : plan.keys;
  const std::int64_t of_block = part == AttentionPart::forward ? 1 : 2;
  const bool in_turn = part == AttentionPart::forward && plan.stages == 1;  // k is dead when v is loaded
  const std::int64_t windows = of_keys ? 2 * plan.stages : in_turn ? 1 : 1 + plan.stages;
  // 32-bit sums that do not fit registers are in memory, in addition to the factors made from them.
  const bool by_groups = device.has_warp_groups() && plan.size % 64 == 0;
  const std::int64_t factor = element == 2 && of_keys && !by_groups ? element + 4 : element;
  constexpr std::int64_t of_reductions = 1024;
  return element * plan.size * (of_block * own + windows * others) + (of_keys ? 2 : 1) * factor * own * others +
         of_reductions;
}

// With smaller tiles if these do not fit a block.
AttentionPlan that_fits(AttentionPlan plan, ScalarType type, const PlanDevice &device, AttentionPart part) {
  int &own = part == AttentionPart::of_keys ? plan.keys : plan.queries;
  int &others = part == AttentionPart::of_keys ? plan.queries : plan.keys;
  while (shared_bytes(plan, type, device, part) > device.shared_bytes()) {
    if (plan.stages > 1)
      plan.stages = 1;
    else if (others >= own && others > fewest_rows)
      others /= 2;
    else if (own > fewest_rows)
      own /= 2;
    else
      break;
  }
  return plan;
}

// Measured for the derived adjoint: it holds up to 9 tiles of 16 bits, or 6 of others, as large as the block's own
// rows.
AttentionPlan differentiated_plan(ScalarType type, int size, bool causal, const PlanDevice &device) {
  const bool of_16_bits = size_of(type) == 2;
  const std::int64_t bytes_of_row = static_cast<std::int64_t>(size_of(type)) * size * (of_16_bits ? 9 : 6);
  int rows = of_16_bits ? 64 : 32;
  while (rows > fewest_rows && rows * bytes_of_row > device.shared_bytes()) rows /= 2;
  return {rows, rows, size, threads_of(size), causal};
}

}  // namespace

bool is_tiny_scale(ScalarType type, double scale) {
  return std::abs(scale) < (type == ScalarType::Float64 ? 1e-290 : 1e-30);
}

AttentionPlan attention_plan(ScalarType type, const AttentionShape &shape, bool causal, const PlanDevice &device,
                             AttentionPart part) {
  // Products take 16 terms at a time; elements beyond the array are zero.
  const int size = static_cast<int>(round_up(std::max<std::int64_t>(shape.size, 1), 16));
  if (device.is_cpu()) return {queries_on_cpu(shape.rows), keys_on_cpu(shape.terms), size, 32, causal};
  const int threads = threads_of(size);
  if (part == AttentionPart::differentiated) return differentiated_plan(type, size, causal, device);
  const bool forward = part == AttentionPart::forward;
  if (size_of(type) == 2) {
    // Warp groups multiply rows of whole 128 bytes (passes/sm90/product_loops.h), with one block on a multiprocessor.
    // With few rows most would be beyond the last.
    const int panels = static_cast<int>(round_up(size, 64));
    const std::int64_t own_rows = part == AttentionPart::of_keys ? shape.terms : shape.rows;
    // Without bulk copies the sums of of_keys would be in shared memory, which lacks the room for them.
    const bool of_groups = part != AttentionPart::of_keys || by_bulk_copies(shape);
    if (device.has_warp_groups() && of_groups && own_rows > 64 && panels <= 128) {
      // Registers hold the sums of all products; without a mask, three groups have equal work.
      const int others = panels == 64 ? 128 : 64;
      // Bulk copies read numbers whose rows begin at multiples of 16 bytes.
      if (part == AttentionPart::of_keys) return {others, 128, panels, 256, causal, 2, shape.rows % 4 == 0};
      if (!forward) return {128, others, panels, 256, causal, 2};
      return panels == 64 && !causal && shape.rows > 128 ? AttentionPlan{192, 128, 64, 384, causal, 2}
                                                         : AttentionPlan{128, 128, panels, 256, causal, 2};
    }
    // One stage leaves registers for the sums.
    return that_fits({64, 64, size, threads, causal, forward || size > 64 ? 2 : 1}, type, device, part);
  }
  // Products of other types use CUDA cores, or twice the registers. The adjoint holds twice as many.
  const AttentionPlan plan = forward && size_of(type) == 4 && size <= 128
                                 ? AttentionPlan{64, 64, size, threads, causal, size > 64 ? 1 : 2}
                                 : AttentionPlan{32, 32, size, threads, causal};
  return that_fits(plan, type, device, part);
}

}  // namespace samite::ops::detail
