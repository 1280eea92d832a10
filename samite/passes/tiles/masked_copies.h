// Masked tiles: loops over elements that copy a tile, with zeros where a coordinate is not below a limit.
#pragma once

#include "samite/ir/kernel.h"

#include <map>
#include <vector>

namespace samite::passes {

// to[i, j] = the coordinate along `dimension` is below `limit` ? from[i, j] : 0. Both are tiles of these extents.
struct MaskedCopy {
  ir::LocalArrayId from, to;
  int dimension;
  ir::Value limit;  // an i32, from outside the loop
};

// The masked copies in a loop over elements, as lower_tiles writes it for a GPU; empty if it does more. `loads`: loads
// of the tiles that it may read, by their memory.
std::vector<MaskedCopy> masked_copies(const ir::For &elements,
                                      const std::map<ir::LocalArrayId, const ir::TileLoad *> &loads);

}  // namespace samite::passes
