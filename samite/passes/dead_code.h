// Removes what nothing needs.
//
// Needed are stores, accumulations, exchanges, atomic operations, prints and checks, and what they read, through
// control flow. A store to a local array is needed where something needed loads from the array. An atomic addition
// whose old value nothing needs becomes an accumulation, which the adjoint and the emitter handle better. Results of
// branches and carried values of loops are removed one by one; branches and loops when nothing needed is left in them.
// A loop without effect is assumed to end. The pass runs after each pass that leaves dead code: above all after
// differentiation, which recomputes whole blocks, of which only what the reverse sweep reads may stay.
#pragma once

#include "samite/ir/kernel.h"

#include <optional>

namespace samite::passes {

ir::Kernel remove_dead_code(const ir::Kernel &structured);

// The body that remains; nothing where it is unchanged.
std::optional<ir::Block> without_dead_code(const ir::Kernel &structured);

}  // namespace samite::passes
