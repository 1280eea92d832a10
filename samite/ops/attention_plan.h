// How attention's rows are cut into tiles: a pure function of their extents, their type and the device.
#pragma once

#include "samite/ops/attention.h"

namespace samite::ops::detail {

struct AttentionPlan {
  int queries = 0, keys = 0, size = 0;  // rows of q and of k in a tile, and numbers of each row
  int threads = 0;
  bool causal = false;
  int stages = 1;  // of the loops over the other side's tiles
  // Numbers of the other side's rows come by bulk copies with their tiles.
  bool numbers_beside = false;
  // The adjoint multiplies products by the scale before it takes the logarithm of a row's sum off, as it would divide
  // by a scale of zero otherwise.
  bool tiny_scale = false;

  friend auto operator<=>(const AttentionPlan &, const AttentionPlan &) = default;
};

// `taped`: a forward run whose adjoint is derived of it, which holds more tiles at one time.
enum class AttentionPart : std::uint8_t { forward, taped, of_queries, of_keys };

// Of up to largest_attention_size numbers in a row.
constexpr std::int64_t largest_attention_size = 256;
AttentionPlan attention_plan(ScalarType type, const AttentionShape &shape, bool causal, const PlanDevice &device,
                             AttentionPart part);
// Whether the logarithm of a sum, divided by this scale, may leave the range of the sums' type.
bool is_tiny_scale(ScalarType type, double scale);

}  // namespace samite::ops::detail
