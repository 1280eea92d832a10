// Gives tiles 64-bit indices where their array has 2^31 elements or more in a dimension, or between two of its
// elements.
//
// The origin of a tile is its number times its extent, an i32 where the number is an Int. The product may not fit an
// i32:
//
//   %2: i32 = mul %1, 4096                       %2: i64 = cast %1    %3: i64 = mul %2, 4096
//   %3: tile<f32, 4096> = load @x[%2]            %4: tile<f32, 4096> = load @x[%3]
//
// Other arrays keep their indices of 32 bits, which are faster. Runs on the structured form, before `lower_tiles`.
#pragma once

#include "samite/ir/kernel.h"

#include <vector>

namespace samite::passes {

// `wide` is by parameter.
ir::Kernel widen_tile_origins(ir::Kernel structured, const std::vector<bool> &wide);

}  // namespace samite::passes
