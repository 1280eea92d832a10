// Widens the indices of tiles to 64 bits if an array has 2^31 or more elements in a dimension, or if two of its
// elements can be that far apart.
//
// The origin of a tile is its number times its extent, an i32 if the number is an Int. The product may overflow an i32:
//
//   %2: i32 = mul %1, 4096                       %2: i64 = cast %1    %3: i64 = mul %2, 4096
//   %3: tile<f32, 4096> = load @x[%2]            %4: tile<f32, 4096> = load @x[%3]
//
// Other arrays keep 32-bit indices, which are faster. Runs on the structured form, before `lower_tiles`.
#pragma once

#include "samite/ir/kernel.h"

#include <vector>

namespace samite::passes {

// `wide` is by parameter.
ir::Kernel widen_tile_origins(ir::Kernel structured, const std::vector<bool> &wide);

}  // namespace samite::passes
