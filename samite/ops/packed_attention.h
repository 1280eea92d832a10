// Attention of packed sequences: rows of several sequences of any lengths lie one after another, without padding.
//
//   ops::packed_attention(q, k, v, q_offsets, k_offsets, out, row_sums, {.causal = true});
//
// q and out are (rows, heads, size), k and v (terms, key heads, size); equally many consecutive heads of q share each
// head of k and v. Sequence s has the rows of q from q_offsets[s] to before q_offsets[s + 1], and those of k and v from
// k_offsets[s] to before k_offsets[s + 1]: out = softmax(scale q kᵀ) v within each sequence, as ops/attention.h has it
// for batches. Offsets are on the device; the host does not read them. They increase from 0 on, up to the number of
// rows. Sequences may be empty; rows in no sequence stay unchanged, and contribute to no gradient, even if they are
// NaN.
//
// Blocks search for their sequence as grouped products do (ops/grouped_rows.h). A row of q that sees nothing has zeros
// as its result, minus infinity as its row sum, and no gradient.
#pragma once

#include "samite/ops/plan_device.h"
#include "samite/ops/planned_launch.h"
#include "samite/runtime/any_buffer.h"

#include <optional>

namespace samite::ops {

struct PackedAttentionOptions {
  bool causal = false;                      // row i of a sequence of q sees rows 0 to i of the sequence of k
  std::optional<double> scale = {};         // default: 1 / sqrt(size)
  std::optional<std::int64_t> window = {};  // rows of k at a distance of this and more, either way, are not seen
  bool from_the_end = false;          // distances are taken from the last rows of both, as if those of q were the last
  std::optional<Stream> stream = {};  // default: the standard stream of the arrays' device
  bool add_gradients = false;         // the adjoint adds to the gradients, as tapes do, instead of overwriting them
};

struct PackedAttentionArrays {
  AnyBuffer q, k, v, q_offsets, k_offsets, out, row_sums;
};

// Arrays of half, bfloat16, float or double, of one type, with up to 256 numbers in each row of a head, which may be
// views with any strides. The offsets are int32, one more than there are sequences. `row_sums` is (heads, rows), of
// float, or double for double arrays: log of the sum of exp(scale q kᵀ). On a tape the adjoint is
// packed_attention_adjoint, with the gradient of row_sums, unless arrays share memory or one is a broadcast. UserError
// if shapes do not match and, on the CPU and in debug mode, if offsets decrease or exceed the rows; DeviceError as for
// a launch.
void packed_attention(const AnyBuffer &q, const AnyBuffer &k, const AnyBuffer &v, const AnyBuffer &q_offsets,
                      const AnyBuffer &k_offsets, const AnyBuffer &out, const AnyBuffer &row_sums,
                      const PackedAttentionOptions &options = {},
                      SourceLocation where = std::source_location::current());

// Overwrites the last three with the gradients of q, k and v for that of out, or adds to them. `out` and `row_sums` are
// the results of packed_attention() for the same arrays.
void packed_attention_adjoint(const PackedAttentionArrays &arrays, const AnyBuffer &out_gradient,
                              const AnyBuffer &q_gradient, const AnyBuffer &k_gradient, const AnyBuffer &v_gradient,
                              const PackedAttentionOptions &options = {},
                              SourceLocation where = std::source_location::current());

struct PackedAttentionShape {
  std::int64_t sequences, heads, rows, size, terms, heads_of_key = 1;
};
// The launches planned for that device. Arrays are (heads, rows, size), offsets int32, the scale has row_sums' type;
// row i of a sequence sees rows of k at distances from -before to behind, both int32 and at most 2^30.
//
//   forward        (q, k, v, q_offsets, k_offsets, out, row_sums, scale, before, behind)
//   row_products   (out, out_gradient, row_sums_gradient, products), which overwrites products, an array like row_sums
//   of_queries     (q, k, v, q_offsets, k_offsets, row_sums, products, out_gradient, q_gradient, scale, before, behind)
//   of_keys        (q, k, v, q_offsets, k_offsets, row_sums, products, out_gradient, k_gradient, v_gradient, scale,
//                  before, behind)
struct PackedAttentionKind {
  bool from_the_end = false;
  bool checked = false;        // kernels check the offsets
  bool add_gradients = false;  // the adjoint's kernels add
};
struct PackedAttentionLaunches {
  PlannedLaunch forward, row_products, of_queries, of_keys;
};
PackedAttentionLaunches packed_attention_launches(ScalarType type, const PackedAttentionShape &shape,
                                                  const PackedAttentionKind &kind, const PlanDevice &device,
                                                  SourceLocation where = std::source_location::current());

}  // namespace samite::ops
