// Removes code whose results are never needed.
//
// Stores, accumulations, exchanges, atomic operations, prints and checks are needed, and so is everything that they
// read, through control flow. A store to a local array is needed if needed code loads from that array. An atomic
// addition whose old value is unused becomes an accumulation, which the adjoint and the emitter handle better. Unused
// results of branches and unused loop-carried values are removed one by one, and branches and loops once nothing needed
// is left in them. A loop without effects is assumed to end.
//
// The pass runs after each pass that leaves dead code. The most important is differentiation, which recomputes whole
// blocks although the reverse sweep reads only parts of them.
#pragma once

#include "samite/ir/kernel.h"

#include <optional>

namespace samite::passes {

ir::Kernel remove_dead_code(const ir::Kernel &structured);

// The remaining body; empty if it is unchanged.
std::optional<ir::Block> without_dead_code(const ir::Kernel &structured);

}  // namespace samite::passes
