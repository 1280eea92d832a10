// Reuses the registers of a dead tile: if an element loop computes one tile from another that is not needed afterwards,
// each element of the result takes the register of the element that it is computed from.
//
//   for.thread i { v = load $0[i] … store $1[i] = f(v) }      becomes      … store $0[i] = f(v), and $0 further on
//
// The compiler finds that too if the loop is unrolled. In loops that rotate the registers instead, as those at the
// edges of arrays do, it keeps both tiles: 256 registers for two tiles of 128 x 256 sums.
//
// Both tiles have the same layout and type, and are allocated in the block that has the loop. In the loop each touches
// only its own element, and no load of the first tile follows a store to the second.
//
// A pure function of a lowered kernel.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel reuse_registers(ir::Kernel placed);

}  // namespace samite::passes
