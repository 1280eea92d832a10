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

AttentionPlan attention_plan(ScalarType type, const AttentionShape &shape, bool causal, const PlanDevice &device) {
  // Products take 16 terms at a time; what is beyond the array is zero.
  const int size = static_cast<int>(round_up(std::max<std::int64_t>(shape.size, 1), 16));
  if (device.is_cpu()) return {queries_on_cpu(shape.rows), keys_on_cpu(shape.terms), size, 32, causal};
  const int rows = size_of(type) == 2 ? 64 : 32;
  return {rows, rows, size, size > 64 ? 256 : 128, causal};  // so that sums fit into registers
}

}  // namespace samite::ops::detail
