// Scales of matrices of 8-bit numbers: each number represents itself times its scale.
//
// A matrix of (rows x columns) may have
//
//   (1, 1)                                    one scale
//   (rows, 1) or (1, columns)                 one for each row or column
//   (rows, ceil(columns / 128))               one for 128 numbers of a row
//   (ceil(rows / 128), columns)               one for 128 numbers of a column
//   (ceil(rows / 128), ceil(columns / 128))   one for a block of 128 by 128
//
// These are the recipes of 8-bit training and inference: per tensor, per row, and by blocks as in DeepSeek-V3
// (DeepSeek-AI, DeepSeek-V3 Technical Report, 2024, section 3.3).
#pragma once

#include "samite/runtime/any_buffer.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace samite::ops {

// The numbers along a dimension that share a scale.
enum class ScaleGroup : std::uint8_t { one, block, all };
inline constexpr int scale_block = 128;

struct ScaleGroups {
  ScaleGroup rows = ScaleGroup::all, columns = ScaleGroup::all;

  friend auto operator<=>(const ScaleGroups &, const ScaleGroups &) = default;
};

// The dimension of a factor that holds the terms of a product's sums.
enum class TermsAre : std::uint8_t { neither, rows, columns };

// The groups of the scales called `what` for a matrix of that many rows and columns; with a leading batch dimension if
// `batches` is not 0. UserError with `where`, the recipes and what was given, if the shape is none of the above, or has
// one scale for each term.
ScaleGroups scale_groups(const std::string &name, const std::string &what, const AnyBuffer &scales,
                         std::int64_t batches, std::int64_t rows, std::int64_t columns, SourceLocation where,
                         TermsAre terms = TermsAre::neither);
// The same for scales of these extents; empty if they are none of the above.
std::optional<ScaleGroups> scale_groups(std::span<const std::int64_t> scales, std::int64_t batches, std::int64_t rows,
                                        std::int64_t columns);

// Whether bulk copies of compute capability 9.0 can read both arrays of scales, and which of them with the last two
// dimensions exchanged, because its columns are contiguous.
struct ScalesLie {
  bool copied = false, a_transposed = false, b_transposed = false;

  friend auto operator<=>(const ScalesLie &, const ScalesLie &) = default;
};
ScalesLie scales_lie(const AnyBuffer &scale_a, const AnyBuffer &scale_b);
// The same by strides, in elements, for arrays that begin at multiples of 16 bytes.
ScalesLie scales_lie(std::span<const std::int64_t> of_a, std::span<const std::int64_t> of_b);

// UserError: scales along the inner dimension are for blocks of 128 terms.
[[noreturn]] void refuse_scale_for_each_term(const std::string &name, SourceLocation where);

}  // namespace samite::ops
