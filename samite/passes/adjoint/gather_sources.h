// Inverts an index map: finds the instances that add to an instance's own element.
#pragma once

#include "samite/passes/analysis/index_map.h"

#include <array>
#include <compare>

namespace samite::passes {

// A condition on the instance's own index t in a dimension of the launch, whose extent is E.
struct Condition {
  enum class Kind : std::uint8_t { AtLeast, Before, First, Last };
  int dimension;
  Kind kind;
  std::int64_t number = 0;  // t ≥ number; t < E - number; t = 0 and number < E; t = E - 1 and t ≥ number
  friend auto operator<=>(const Condition &, const Condition &) = default;
};

// The instance at t + shift, if the conditions hold.
struct Source {
  std::array<std::int64_t, ir::maximum_rank> shift{};
  std::vector<Condition> conditions;

  bool always() const { return conditions.empty(); }
  bool at_edges_only() const;
  friend auto operator<=>(const Source &, const Source &) = default;
};

// All instances of a launch that these maps (one for each dimension of the launch) map to the own index. The extents of
// the launch are those of the array. Empty if an offset is too large to pay.
std::vector<Source> sources_of(const std::vector<IndexMap> &maps);

}  // namespace samite::passes
