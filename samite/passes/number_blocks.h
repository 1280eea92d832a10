// The order in which the blocks of a product are numbered, which is about the order in which they run: those that run
// at one time are to need the fewest windows of the factors in all, so that level 2 of the cache hands out each window
// to many of them.
//
// Blocks that lie row by row in the launch need one row of windows of one factor, and all of the other. In strips of so
// many columns (`Kernel::strip_columns`) those of all multiprocessors are about a square. On an H200 a product of
// doubles of 4096 x 4096 x 4096, in tiles of 64 x 128, takes 2.54 ms row by row, and 2.48 ms in strips of 16.
//
// Of tile kernels over two dimensions or more that multiply in a loop; all others are left as they are. After
// assign_roles. A pure function of a lowered kernel.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel number_blocks(ir::Kernel with_roles);

}  // namespace samite::passes
