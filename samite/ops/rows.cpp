#include "samite/ops/rows.h"

#include "samite/base/error.h"
#include "samite/ops/matmul_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace samite::ops::detail {
namespace {

constexpr int longest_tile = 8192, shortest_tile = 32;
constexpr int tile_elements = 2048;  // of several short rows
constexpr int part = 4096;

}  // namespace

RowPlan row_plan(std::int64_t columns) {
  if (columns > longest_tile) return {1, part, 512, true};
  const int width = std::max(
      shortest_tile, static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(columns, 1)))));
  return {std::max(1, tile_elements / width), width, width > tile_elements ? 512 : 256, false};
}

Extents row_blocks(std::int64_t rows, const RowPlan &plan) { return {ceil_div(rows, plan.rows)}; }

void check_rows(const std::string &name, const AnyBuffer &x, const AnyBuffer &y, SourceLocation where) {
  const auto text = [](const AnyBuffer &buffer) { return buffer.valid() ? buffer.to_string() : "an empty buffer"; };
  if (!x.valid() || !y.valid() || x.rank() != 2 || x.extents() != y.extents() || x.type() != y.type() ||
      x.device() != y.device())
    throw UserError(where, fmt::format("{}: expected two matrices of the same extents and type on one device; x is {} "
                                       "and y {}. Other arrays are made matrices by view() or reshape()",
                                       name, text(x), text(y)));
}

void refuse_row_type(const std::string &operation, ScalarType type, SourceLocation where) {
  throw UserError(where, fmt::format("{}: expected elements of half, bfloat16, float or double; {} given: convert them",
                                     operation, cpp_name(type)));
}

}  // namespace samite::ops::detail
