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

  friend auto operator<=>(const AttentionPlan &, const AttentionPlan &) = default;
};

enum class AttentionPart : std::uint8_t { forward, of_queries, of_keys };

// Of up to largest_attention_size numbers in a row.
constexpr std::int64_t largest_attention_size = 256;
AttentionPlan attention_plan(ScalarType type, const AttentionShape &shape, bool causal, const PlanDevice &device,
                             AttentionPart part);

}  // namespace samite::ops::detail
