// Finds by how much an integer grows from each lane to the next, where that is a constant: 2 for `2 * x + 1` with the
// index x of a thread loop. Loads at such an index read a few vectors and pick the lanes' elements from them.
#pragma once

#include "samite/passes/uniformity.h"

#include <optional>
#include <vector>

namespace samite::passes {

// By LocalId, of a kernel in structured or lowered form: 0 of what is Uniform, 1 of what is Linear, and of some of what
// is Varying. As with Linear, unsigned integers of 32 bits have none, since a lane may wrap round.
std::vector<std::optional<std::int64_t>> lane_steps(const ir::Kernel &kernel, const Uniformity &uniformity);

// By LocalId: whether an integer grows by one with each second lane, as `(x + 1) >> 1` does, so that neighbours have it
// in pairs; the first and the last lane may be without the other of their pair. `steps` are those of `lane_steps`.
std::vector<bool> in_pairs_of_lanes(const ir::Kernel &kernel, const std::vector<std::optional<std::int64_t>> &steps);

}  // namespace samite::passes
