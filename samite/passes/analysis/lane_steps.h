// Finds the constant increment of an integer from lane to lane: 2 for `2 * x + 1` with the index x of a thread loop.
// Loads at such an index read a few vectors and pick the lanes' elements from them.
#pragma once

#include "samite/passes/analysis/uniformity.h"

#include <optional>
#include <vector>

namespace samite::passes {

// Whether vectors of a type have the same form in memory as in registers.
bool is_the_same_in_memory(ScalarType type);

// By LocalId, for a kernel in structured or lowered form: 0 for Uniform, 1 for Linear, and constants for some Varying
// values. As with Linear, unsigned 32-bit integers have none, since a lane may wrap around.
std::vector<std::optional<std::int64_t>> lane_steps(const ir::Kernel &kernel, const Uniformity &uniformity);

// By LocalId: whether an integer grows by one every second lane, as `(x + 1) >> 1` does, so that pairs of neighbouring
// lanes share it; the first and the last lane may lack their partner. `steps` are those of `lane_steps`.
std::vector<bool> in_pairs_of_lanes(const ir::Kernel &kernel, const std::vector<std::optional<std::int64_t>> &steps);

// By LocalId: for an i32 that is a steady Linear value with Uniform lower and upper limits, as `max(min(x + 1, n), 0)`
// is, the value without the limits. Neighbouring lanes have neighbouring values, except that the first or the last
// lanes have a limit.
std::vector<std::optional<ir::Value>> clamped_lanes(const ir::Kernel &kernel, const Uniformity &uniformity);

}  // namespace samite::passes
