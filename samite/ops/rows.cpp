#include "samite/ops/rows.h"

#include "samite/base/error.h"
#include "samite/ops/matmul_plan.h"
#include "samite/ops/operand_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace samite::ops::detail {
namespace {

constexpr int longest_tile = 8192, shortest_tile = 32, warp = 32;
// For several short rows. Fewer on the CPU, which prefetches the next row while it processes one.
constexpr int tile_elements = 2048, tile_elements_on_cpu = 1024;
constexpr int part = 4096, part_on_cpu = 2048;

// Rounded to whole registers, with few widths to compile kernels for: at most a sixteenth is beyond the row.
std::int64_t width_on_cpu(std::int64_t columns) {
  const auto power = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(columns)));
  return round_up(columns, std::max<std::int64_t>(16, power / 32));
}

// Up to 512 columns a power of two, with several rows in a block. For longer rows the tile is as long as the row if
// that is a multiple of a sixteenth to an eighth of it, as widths of networks are: rows that end within a tile are
// processed element by element.
std::int64_t width_on_gpu(std::int64_t columns) {
  const auto power = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(columns)));
  return power <= 512 ? std::max<std::int64_t>(shortest_tile, power) : round_up(columns, power / 16);
}

RowPlan plan_on_cpu(std::int64_t columns, std::int64_t longest) {
  // Parts of equal length, as far as possible: elements beyond the row take as long as others.
  const std::int64_t parts = columns > longest ? ceil_div(columns, part_on_cpu) : 1;
  const auto width = static_cast<int>(width_on_cpu(ceil_div(columns, parts)));
  return {parts > 1 ? 1 : std::max(1, tile_elements_on_cpu / width), width, 32, parts > 1};
}

}  // namespace

RowPlan row_plan(std::int64_t columns, const PlanDevice &device, std::int64_t longest_on_cpu, int numbers) {
  columns = std::max<std::int64_t>(columns, 1);
  if (device.is_cpu()) return plan_on_cpu(columns, longest_on_cpu);
  if (columns > longest_tile) return {1, part, 512, true};
  const std::int64_t width = width_on_gpu(columns), rows = std::max<std::int64_t>(1, tile_elements / width);
  const std::int64_t threads = std::clamp<std::int64_t>(round_up(ceil_div(rows * width, numbers), warp), 128, 512);
  return {static_cast<int>(rows), static_cast<int>(width), static_cast<int>(threads), false};
}

Extents row_blocks(std::int64_t rows, const RowPlan &plan) { return {ceil_div(rows, plan.rows)}; }

void check_rows(const std::string &name, const AnyBuffer &x, const AnyBuffer &y, SourceLocation where) {
  if (!x.valid() || !y.valid() || x.rank() != 2 || x.extents() != y.extents() || x.type() != y.type() ||
      x.device() != y.device())
    throw UserError(where, fmt::format("{}: expected two matrices of the same extents and type on one device; x is {} "
                                       "and y {}. Other arrays are made matrices by view() or reshape()",
                                       name, text_of(x), text_of(y)));
}

void refuse_row_type(const std::string &operation, ScalarType type, SourceLocation where) {
  throw UserError(where, fmt::format("{}: expected elements of half, bfloat16, float or double; {} given: convert them",
                                     operation, cpp_name(type)));
}

void check_columns_of(const std::string &name, const AnyBuffer &x, const AnyBuffer &numbers, const char *what,
                      SourceLocation where) {
  const ScalarType type = row_number_type(x.type());
  if (!numbers.valid() || numbers.type() != type || numbers.extents() != Extents{x.extents()[1]} ||
      numbers.device() != x.device())
    throw UserError(
        where, fmt::format("{}: expected a {} of {} numbers of {}, one for each column of x, on {}; {} given", name,
                           what, x.extents()[1], cpp_name(type), x.device().to_string(),
                           numbers.valid() ? numbers.to_string() : "an empty buffer"));
}

}  // namespace samite::ops::detail
