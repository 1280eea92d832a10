// Tiles in registers that take the place of others: of one that a loop over elements makes of another, which nothing
// needs any longer, each element takes the register of the element that it is made of.
//
//   for.thread i { v = load $0[i] … store $1[i] = f(v) }      becomes      … store $0[i] = f(v), and $0 further on
//
// The compiler would find that too, where the loop is unrolled. In code that goes through the registers by rotating
// them, which is that for tiles at the edges of arrays, it keeps both: 256 registers for two tiles of 128 x 256 sums.
//
// Both tiles have one layout and one type, and are allocated in the block of statements that has the loop. In the loop,
// each touches its own element alone, and no load of the first comes after a store to the second.
//
// After place_tiles. A pure function of a lowered kernel.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel reuse_registers(ir::Kernel placed);

}  // namespace samite::passes
