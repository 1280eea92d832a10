// A stored tile as a load would return it: zero beyond the array.
#pragma once

#include "samite/passes/simplify/builder.h"

#include <vector>

namespace samite::passes {

// `place` is the index of the tile's first element in each dimension of the array, `extents` are the array's, with the
// indices' types.
ir::Value within_array(Builder &build, const ir::Value &tile, const std::vector<ir::Value> &place,
                       const std::vector<ir::Value> &extents);

}  // namespace samite::passes
