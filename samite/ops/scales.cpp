#include "samite/ops/scales.h"

#include "samite/base/error.h"

#include <fmt/format.h>

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
  // One number for each row together with one for each column would be a scale for each element.
  if (of_rows == ScaleGroup::one && of_columns == ScaleGroup::one) return std::nullopt;
  return ScaleGroups{*of_rows, *of_columns};
}

ScaleGroups scale_groups(const std::string &name, const std::string &what, const AnyBuffer &scales,
                         std::int64_t batches, std::int64_t rows, std::int64_t columns, SourceLocation where,
                         TermsAre terms) {
  const bool of_rows = terms != TermsAre::rows, of_columns = terms != TermsAre::columns;
  if (scales.valid())
    if (const auto groups =
            scale_groups(std::span(scales.extents().begin(), scales.extents().end()), batches, rows, columns)) {
      if ((groups->rows == ScaleGroup::one && !of_rows) || (groups->columns == ScaleGroup::one && !of_columns))
        refuse_scale_for_each_term(name, where);
      return *groups;
    }
  struct Recipe {
    std::int64_t down, across;
    std::string what;
    bool possible = true;
  };
  const std::int64_t down = scale_blocks(rows), across = scale_blocks(columns);
  const Recipe recipes[] = {{1, 1, "one"},
                            {rows, 1, "one for each row", of_rows},
                            {1, columns, "one for each column", of_columns},
                            {rows, across, fmt::format("one for {} numbers of a row", scale_block), of_rows},
                            {down, columns, fmt::format("one for {} numbers of a column", scale_block), of_columns},
                            {down, across, fmt::format("one for a block of {} by {}", scale_block, scale_block)}};
  std::string text;
  for (const Recipe &recipe : recipes)
    if (recipe.possible)
      text += fmt::format("{}({}{}, {}), {}", text.empty() ? "" : "; ",
                          batches == 0 ? "" : fmt::format("{}, ", batches), recipe.down, recipe.across, recipe.what);
  throw UserError(
      where, fmt::format("{}: {} {}; a matrix of {} by {} has scales of {}", name, what,
                         scales.valid() ? "has extents " + scales.extents().to_string() : "is an empty buffer", rows,
                         columns, text));
}

ScalesLie scales_lie(std::span<const std::int64_t> of_a, std::span<const std::int64_t> of_b) {
  // Whether the dimensions must be exchanged so that rows are contiguous and begin at multiples of 16 bytes. Empty if
  // neither order does.
  const auto transposed = [](std::span<const std::int64_t> strides) -> std::optional<bool> {
    const std::size_t last = strides.size() - 1;
    const std::size_t together = strides[last] == 1 ? last : last - 1;
    for (std::size_t d = 0; d < strides.size(); ++d)
      if (d == together ? strides[d] != 1 : strides[d] % 4 != 0) return std::nullopt;
    return together != last;
  };
  const auto a = transposed(of_a), b = transposed(of_b);
  return a && b ? ScalesLie{true, *a, *b} : ScalesLie{};
}
ScalesLie scales_lie(const AnyBuffer &scale_a, const AnyBuffer &scale_b) {
  const auto begins = [](const AnyBuffer &scales) { return reinterpret_cast<std::uintptr_t>(scales.data()) % 16 == 0; };
  return begins(scale_a) && begins(scale_b) ? scales_lie(scale_a.strides(), scale_b.strides()) : ScalesLie{};
}

void refuse_scale_for_each_term(const std::string &name, SourceLocation where) {
  throw UserError(where,
                  fmt::format("{}: there is a scale for each of the terms that are added up; expected one for all "
                              "of them, or one for {} of them: multiply the other factor with these scales before "
                              "it is quantised",
                              name, scale_block));
}

}  // namespace samite::ops
