// Rearranges the loads of tiles in structured form, so that their lowering needs less memory or waits less. Internal to
// lower_tiles.
#pragma once

#include "samite/ir/kernel.h"

#include <optional>
#include <set>
#include <vector>

namespace samite::passes {

// Whether it loads a plain window of rows and columns of an array, which all threads of a block can load together.
bool loads_window(const ir::Let &let);

// If all uses of a load only add leading dimensions of one element, such as a row that is added to each row of a tile:
// loads with those dimensions, so that the tile needs no memory. Empty if there are none. `uses` counts those of each
// local in the kernel.
std::optional<ir::Block> with_loads_reshaped(const ir::Block &block, const std::vector<int> &uses);

// The body of a loop that begins with the loads of factors of products, and the statements that these need.
struct LoadsAhead {
  ir::Block body;
  std::set<ir::LocalId> loads;  // the tiles
};
// Prefetches the factors of products, in a multi-stage loop that does not write to arrays, even if they are computed
// from the loads element by element: otherwise the threads would wait for each element.
LoadsAhead with_loads_ahead(const ir::For &loop, const std::vector<int> &uses);

}  // namespace samite::passes
