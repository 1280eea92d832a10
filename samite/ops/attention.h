// Attention: out = softmax(scale q kᵀ) v, for each head of each batch.
//
//   ops::attention(q, k, v, out, row_sums, {.causal = true});
//   ops::attention_adjoint(q, k, v, out, row_sums, out_gradient, q_gradient, k_gradient, v_gradient, {.causal = true});
//
// All are (batches, heads, rows, size), and may be views with any strides; permute() turns (batches, rows, heads, size)
// into it. q and out have the same rows, as do k and v, which may have fewer heads: then consecutive heads of q share a
// head of k and v (grouped queries; with one head, multi-query). No matrix of weights is stored: a block has some rows
// of q, iterates over blocks of k and v, and keeps the running maximum, the sum of exponentials and the weighted sum of
// v (Milakov, Gimelshein, Online normalizer calculation for softmax, 2018; Dao, FlashAttention-2, 2023).
//
// The adjoint recomputes the weights from the logarithm of each row's sum of exponentials, which the forward run
// stores. It is three kernels: one for the dot product of each row of out and its gradient, one that iterates over k
// and v for each block of q, and one over q for each block of k and v, so that no two blocks add to one element. A tape
// runs it, too, with the gradient of row_sums, if that is tracked. Only if arrays share memory, or one is broadcast,
// does a tape use the derived adjoint, which stores more.
#pragma once

#include "samite/ops/plan_device.h"
#include "samite/ops/planned_launch.h"
#include "samite/runtime/any_buffer.h"

#include <optional>

namespace samite::ops {

struct AttentionOptions {
  bool causal = false;                // row i of q sees rows 0 to i of k and v
  std::optional<double> scale = {};   // default: 1 / sqrt(size)
  std::optional<Stream> stream = {};  // default: the standard stream of the arrays' device
  bool add_gradients = false;  // attention_adjoint adds to the gradients, as tapes do, and does not overwrite them
  // The remaining options are masks. A row of q that sees nothing has zeros as its result, minus infinity as its row
  // sum, and no gradient. The distance of row j of k from row i of q is j - i; with `from_the_end` it is taken from the
  // last rows of both, as if the rows of q were the last ones of k. Causal rows see distances up to 0.
  bool from_the_end = false;
  std::optional<std::int64_t> window = {};  // rows of k at a distance of this and more, either way, are not seen
  // Is added to scale q kᵀ: (batches, heads, rows of q, rows of k) of q's type. It may be a broadcast.
  AnyBuffer bias = {};
  // A number for each head of q, of row_sums' type: slope |distance| is subtracted from scale q kᵀ (Press, Smith,
  // Lewis, ALiBi, 2022).
  AnyBuffer slopes = {};
  // An int32 for each batch element: how many of its rows of k and v count; from_the_end begins at these.
  AnyBuffer lengths = {};
};

// Arrays of half, bfloat16, float or double, of one type, with up to 256 numbers in each row of a head. `row_sums` is
// (batches, heads, rows of q), of float, or double for double arrays: log of the sum of exp(scale q kᵀ), with what
// masks add. On a tape the bias and the slopes have gradients, too, from a derived adjoint of all. UserError if their
// shapes do not match, DeviceError as for a launch.
void attention(const AnyBuffer &q, const AnyBuffer &k, const AnyBuffer &v, const AnyBuffer &out,
               const AnyBuffer &row_sums, const AttentionOptions &options = {},
               SourceLocation where = std::source_location::current());

// Overwrites the last three with the gradients of q, k and v for that of out, or adds to them (add_gradients). `out`
// and `row_sums` are the results of attention() for the same arrays.
void attention_adjoint(const AnyBuffer &q, const AnyBuffer &k, const AnyBuffer &v, const AnyBuffer &out,
                       const AnyBuffer &row_sums, const AnyBuffer &out_gradient, const AnyBuffer &q_gradient,
                       const AnyBuffer &k_gradient, const AnyBuffer &v_gradient, const AttentionOptions &options = {},
                       SourceLocation where = std::source_location::current());

// The extents of q, the number of rows of k, and how many heads of q share a head of k.
struct AttentionShape {
  std::int64_t batches, heads, rows, size, terms, heads_of_key = 1;
};
// The launches planned for that device; the scale has row_sums' type.
//
//   attention_launch        (q, k, v, out, row_sums, scale)
//   row_products            (out, out_gradient, products), which runs first and overwrites products, an array like
//                           row_sums; with `of_row_sums` (out, out_gradient, row_sums_gradient, products)
//   of_queries              (q, k, v, row_sums, products, out_gradient, q_gradient, scale)
//   of_keys                 (q, k, v, row_sums, products, out_gradient, k_gradient, v_gradient, scale)
// `derived`: the launch has the derived adjoint, for which its tiles are smaller. `scale` is that of the launches, up
// to its magnitude: below 1e-30, or 1e-290 in double, other kernels are used.
PlannedLaunch attention_launch(ScalarType type, const AttentionShape &shape, bool causal, const PlanDevice &device,
                               bool derived = false, SourceLocation where = std::source_location::current());
struct AttentionAdjoint {
  PlannedLaunch row_products, of_queries, of_keys;
};
struct AttentionGradients {
  bool add = false;          // to the gradients of q, k and v
  bool of_row_sums = false;  // row_sums has a gradient, too
};
AttentionAdjoint attention_adjoint_launches(ScalarType type, const AttentionShape &shape, bool causal,
                                            const PlanDevice &device, double scale = 1,
                                            const AttentionGradients &gradients = {},
                                            SourceLocation where = std::source_location::current());

// The masks that a kernel is made for.
struct AttentionMasks {
  bool any = false;
  bool from_the_end = false, bias = false, slopes = false, lengths = false;

  friend auto operator<=>(const AttentionMasks &, const AttentionMasks &) = default;
};
// The same launches with masks. After v they take bias, slopes and lengths (any arrays of those types and ranks if
// unused), and after the scale the int32 `before` and `behind`: row i of q sees rows of k at distances from -before to
// behind, both at most 2^30.
PlannedLaunch masked_attention_launch(ScalarType type, const AttentionShape &shape, const AttentionMasks &masks,
                                      const PlanDevice &device, bool derived = false,
                                      SourceLocation where = std::source_location::current());
AttentionAdjoint masked_attention_adjoint_launches(ScalarType type, const AttentionShape &shape,
                                                   const AttentionMasks &masks, const PlanDevice &device,
                                                   double scale = 1, const AttentionGradients &gradients = {},
                                                   SourceLocation where = std::source_location::current());

}  // namespace samite::ops
