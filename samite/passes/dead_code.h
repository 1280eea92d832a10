// Removes what nothing needs.
//
// Needed are stores, accumulations, exchanges, atomic operations, prints and checks, and what they read, through
// control flow; stores to a local array where something needed loads from it. An atomic addition whose old value
// nothing needs becomes an accumulation, which the adjoint and the emitter handle better. Results of branches and
// carried values of loops go one by one, branches and loops when nothing needed is left in them. A loop without effect
// is taken to end. Runs after each pass that leaves things behind: above all the adjoint, which recomputes whole blocks
// and relies on this pass to keep what the reverse sweep reads.
#pragma once

#include "samite/ir/kernel.h"

#include <optional>

namespace samite::passes {

ir::Kernel remove_dead_code(const ir::Kernel &structured);

// The body that remains, where that is another one.
std::optional<ir::Block> without_dead_code(const ir::Kernel &structured);

}  // namespace samite::passes
