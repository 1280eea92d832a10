#include "samite/ops/attention_plan.h"

#include "samite/ops/matmul_plan.h"

#include <algorithm>
#include <bit>

namespace samite::ops::detail {
namespace {

// Tiles of one height, as far as can be: what is beyond the rows takes as long as what is inside.
constexpr std::int64_t highest_on_cpu = 64;
std::int64_t height_on_cpu(std::int64_t rows) {
  rows = std::max<std::int64_t>(rows, 1);
  return ceil_div(rows, ceil_div(rows, highest_on_cpu));
}
// A product has up to 8 rows in registers.
int queries_on_cpu(std::int64_t rows) {
  const auto height = static_cast<std::uint64_t>(height_on_cpu(rows));
  return static_cast<int>(height < 8 ? std::bit_ceil(height) : round_up(height_on_cpu(rows), 8));
}
// Whole registers.
int keys_on_cpu(std::int64_t rows) { return static_cast<int>(round_up(height_on_cpu(rows), 16)); }

}  // namespace

AttentionPlan attention_plan(ScalarType type, const AttentionShape &shape, bool causal, const PlanDevice &device,
                             AttentionPart part) {
  // Products take 16 terms at a time; what is beyond the array is zero.
  const int size = static_cast<int>(round_up(std::max<std::int64_t>(shape.size, 1), 16));
  if (device.is_cpu()) return {queries_on_cpu(shape.rows), keys_on_cpu(shape.terms), size, 32, causal};
  const int threads = size > 64 ? 256 : 128;  // so that sums fit into registers
  const bool forward = part == AttentionPart::forward;
  if (size_of(type) == 2) {
    // Groups of warps multiply rows of whole 128 bytes (passes/product_loops.h), in one block a multiprocessor. Of few
    // rows most would be beyond the last.
    const int panels = static_cast<int>(round_up(size, 64));
    const std::int64_t own_rows = part == AttentionPart::of_keys ? shape.terms : shape.rows;
    if (device.compute_capability / 10 == 9 && own_rows > 64 && panels <= 128) {
      // Registers are for sums of all products; without a mask, three groups have their work evenly.
      const int others = panels == 64 ? 128 : 64;
      // Bulk copies read numbers whose rows begin at multiples of 16 bytes.
      if (part == AttentionPart::of_keys) return {others, 128, panels, 256, causal, 2, shape.rows % 4 == 0};
      if (!forward) return {128, others, panels, 256, causal, 2};
      return panels == 64 && !causal && shape.rows > 128 ? AttentionPlan{192, 128, 64, 384, causal, 2}
                                                         : AttentionPlan{128, 128, panels, 256, causal, 2};
    }
    return {64, 64, size, threads, causal, forward || size > 64 ? 2 : 1};  // which leaves registers for the sums
  }
  // Products of other types take the threads' own arithmetic, or twice the registers. The adjoint holds twice as many.
  if (forward && size_of(type) == 4 && size <= 128) return {64, 64, size, threads, causal, size > 64 ? 1 : 2};
  return {32, 32, size, threads, causal};
}

}  // namespace samite::ops::detail
