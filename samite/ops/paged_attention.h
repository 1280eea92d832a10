// Attention to keys and values in pages, for decoding: the last rows of q against all earlier ones.
//
//   ops::paged_attention(q, k_pages, v_pages, page_table, lengths, out, row_sums);
//
// q and out are (sequences, heads, rows, size), with one row for each new token of a sequence. The keys and values of a
// sequence are in pages of a common store, (pages, key heads, rows of a page, size): its row j is row j % (rows of a
// page) of page page_table(sequence, j / (rows of a page)). `lengths` says how many rows a sequence has, with the new
// ones; row i of q is row length - rows + i, and sees the rows up to itself. Equally many consecutive heads of q share
// each head of the pages; a block multiplies all of them by the keys that it loads.
//
// The keys are split over several blocks if there are too few sequences and heads for the device (flash decoding): each
// keeps its own maximum and sum of exponentials, and a second kernel combines them, always in the same order.
//
// Rows beyond a sequence's length are not read. A number of a page that does not exist reads as zeros. A row of q that
// sees nothing has zeros as its result and minus infinity as its row sum.
#pragma once

#include "samite/ops/plan_device.h"
#include "samite/ops/planned_launch.h"
#include "samite/runtime/any_buffer.h"

#include <optional>

namespace samite::ops {

struct PagedAttentionOptions {
  std::optional<double> scale = {};         // default: 1 / sqrt(size)
  std::optional<std::int64_t> window = {};  // earlier rows at a distance of this and more are not seen
  std::optional<int> parts = {};            // how many blocks share the keys of a sequence; default: by the device
  std::optional<Stream> stream = {};        // default: the standard stream of the arrays' device
};

// Arrays of half, bfloat16, float or double, of one type, with up to 256 numbers in each row of a head; they may be
// views with any strides. The table (sequences, most pages of a sequence) and the lengths (sequences) are int32.
// `row_sums` is (sequences, heads, rows), of float, or double for double arrays: log of the sum of exp(scale q kᵀ).
// Gradients are for training, which has its keys at hand (ops/packed_attention.h): UserError on a tape if q or the
// pages track gradients, and if shapes or types do not match. DeviceError as for a launch.
void paged_attention(const AnyBuffer &q, const AnyBuffer &k_pages, const AnyBuffer &v_pages,
                     const AnyBuffer &page_table, const AnyBuffer &lengths, const AnyBuffer &out,
                     const AnyBuffer &row_sums, const PagedAttentionOptions &options = {},
                     SourceLocation where = std::source_location::current());

// The extents of q and of the table, the rows of a page, and how many heads of q share a head of the pages.
struct PagedAttentionShape {
  std::int64_t sequences, heads, rows, size, page_rows, most_pages, heads_of_key = 1;
};
// The launches planned for that device; the scale has row_sums' type, and `before` is int32: how far back a row sees,
// at most 2^30.
//
//   parts      (q, k_pages, v_pages, page_table, lengths, part_results, part_sums, scale, before)
//   combine    (part_results, part_sums, out, row_sums), after it
//
// part_results is (part_count, sequences * heads, rows, size) and part_sums (part_count, sequences * heads, rows), both
// of row_sums' type.
struct PagedAttentionLaunches {
  PlannedLaunch parts, combine;
  std::int64_t part_count = 1;
};
PagedAttentionLaunches paged_attention_launches(ScalarType type, const PagedAttentionShape &shape,
                                                std::optional<int> parts, const PlanDevice &device,
                                                SourceLocation where = std::source_location::current());

}  // namespace samite::ops
