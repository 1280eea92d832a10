// Chooses the order in which a product's blocks are numbered, and so roughly the order in which they run, so that the
// blocks that run together share as many windows of the factors as possible and the level-2 cache serves each window to
// many of them.
//
// Numbered row by row, the running blocks need one row of windows of one factor and all of the other. Numbered in
// strips of a certain number of columns (`Grid::strip_columns`), they cover about a square. On an H200 a product of
// doubles of 4096 x 4096 x 4096 in tiles of 64 x 128 takes 2.54 ms row by row, and 2.48 ms in strips of 16.
//
// For tile kernels over two or more dimensions that multiply in a loop; others stay as they are.
// `TilePlan::strip_columns` asks for strips of any tile kernel over two or more dimensions, or for none. A pure
// function of a lowered kernel.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

// Throws PlanRefused if the plan asks for strips of a kernel over one dimension. Otherwise the plan of a kernel with
// strips has their columns afterwards.
ir::Kernel number_blocks(ir::Kernel with_roles);

}  // namespace samite::passes
