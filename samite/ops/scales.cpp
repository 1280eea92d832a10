#include "samite/ops/scales.h"

#include "samite/base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace samite::ops {
namespace {

constexpr std::int64_t scale_blocks(std::int64_t count) { return (count + scale_block - 1) / scale_block; }

std::optional<ScaleGroup> group_of(std::int64_t scales, std::int64_t count) {
  if (scales == 1) return ScaleGroup::all;
  if (scales == count) return ScaleGroup::one;
  if (scales == scale_blocks(count)) return ScaleGroup::block;
  return std::nullopt;
}

}  // namespace

std::optional<ScaleGroups> scale_groups(std::span<const std::int64_t> scales, std::int64_t batches, std::int64_t rows,
                                        std::int64_t columns) {
  const std::size_t rank = batches == 0 ? 2 : 3;
  if (scales.size() != rank || (batches != 0 && scales[0] != batches)) return std::nullopt;
  const auto of_rows = group_of(scales[rank - 2], rows);
  const auto of_columns = group_of(scales[rank - 1], columns);
  if (!of_rows || !of_columns) return std::nullopt;
  // One number of a row beside one of a column would be a scale for each element.
  if (of_rows == ScaleGroup::one && of_columns == ScaleGroup::one) return std::nullopt;
  return ScaleGroups{*of_rows, *of_columns};
}

ScaleGroups scale_groups(const std::string &name, const std::string &what, const AnyBuffer &scales,
                         std::int64_t batches, std::int64_t rows, std::int64_t columns, SourceLocation where) {
  if (scales.valid())
    if (const auto groups =
            scale_groups(std::span(scales.extents().begin(), scales.extents().end()), batches, rows, columns))
      return *groups;
  const std::string before = batches == 0 ? "" : fmt::format("{}, ", batches);
  throw UserError(
      where, fmt::format(
                 "{}: {} {}; a matrix of {} by {} has scales of ({}1, 1), one; ({}{}, 1), one for each row; ({}1, {}), "
                 "one for each column; ({}{}, {}), one for {} numbers of a row; ({}{}, {}), one for {} of a column; or "
                 "({}{}, {}), one for a block of {} by {}",
                 name, what, scales.valid() ? "has extents " + scales.extents().to_string() : "is an empty buffer",
                 rows, columns, before, before, rows, before, columns, before, rows, scale_blocks(columns), scale_block,
                 before, scale_blocks(rows), columns, scale_block, before, scale_blocks(rows), scale_blocks(columns),
                 scale_block, scale_block));
}

bool bulk_copies_read(const AnyBuffer &scales) {
  constexpr std::uintptr_t unit = 16;
  const auto strides = scales.strides();
  return strides.back() == 1 && reinterpret_cast<std::uintptr_t>(scales.data()) % unit == 0 &&
         std::ranges::all_of(strides.first(strides.size() - 1), [&](std::int64_t stride) {
           return stride * std::int64_t{sizeof(float)} % std::int64_t{unit} == 0;
         });
}

void refuse_scale_for_each_term(const std::string &name, SourceLocation where) {
  throw UserError(where,
                  fmt::format("{}: there is a scale for each of the terms that are added up; expected one for all "
                              "of them, or one for {} of them: multiply the other factor with these scales before "
                              "it is quantised",
                              name, scale_block));
}

}  // namespace samite::ops
