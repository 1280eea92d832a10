// A tile as a load would give it of an array that it was stored to: zero beyond the array.
#pragma once

#include "samite/passes/builder.h"

#include <vector>

namespace samite::passes {

// `place` is the index of the tile's first element in each dimension of the array, `extents` are the array's, of the
// indices' types.
ir::Value within_array(Builder &build, const ir::Value &tile, const std::vector<ir::Value> &place,
                       const std::vector<ir::Value> &extents);

}  // namespace samite::passes
