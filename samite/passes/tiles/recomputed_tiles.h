// Finds the tiles that each loop over elements recomputes instead of reading them from memory. Internal to lower_tiles.
#pragma once

#include "samite/ir/kernel.h"

#include <map>
#include <vector>

namespace samite::passes {

// Coordinates, numbers for all elements, and indices that are a few sums and products of those, if only element-wise
// operations use them. By local: their operations. `uses` counts those of each local in the kernel.
std::map<ir::LocalId, ir::Operation> recomputed_tiles(const ir::Block &body, const std::vector<int> &uses);

}  // namespace samite::passes
