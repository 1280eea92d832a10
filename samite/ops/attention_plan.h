// The tiling of attention's rows: a pure function of their extents, their type and the device.
#pragma once

#include "samite/ops/attention.h"

namespace samite::ops::detail {

struct AttentionPlan {
  int queries = 0, keys = 0, size = 0;  // rows of q and of k in a tile, and numbers of each row
  int threads = 0;
  bool causal = false;
  int stages = 1;  // stages of the loops over the other side's tiles
  // Bulk copies load the numbers of the other side's rows with their tiles.
  bool numbers_beside = false;
  // The adjoint multiplies products by the scale before it subtracts the logarithm of a row's sum, to avoid a division
  // by a scale near zero.
  bool tiny_scale = false;
  bool add_gradients = false;  // the adjoint adds to the gradients instead of overwriting them
  int heads_of_key = 1;        // heads of q that share a head of k and v
  AttentionMasks masks = {};   // without any, the kernels lack the arguments for them

  friend auto operator<=>(const AttentionPlan &, const AttentionPlan &) = default;
};

// `differentiated`: a forward run with a derived adjoint, which needs more tiles at once.
enum class AttentionPart : std::uint8_t { forward, differentiated, of_queries, of_keys };

// The largest number of elements in a row.
constexpr std::int64_t largest_attention_size = 256;
AttentionPlan attention_plan(ScalarType type, const AttentionShape &shape, bool causal, const PlanDevice &device,
                             AttentionPart part);
// Whether the logarithm of a sum, divided by this scale, may overflow the sums' type.
bool is_tiny_scale(ScalarType type, double scale);

}  // namespace samite::ops::detail
