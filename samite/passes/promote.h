// From captured to structured form: assigned locals become values.
//
// The front writes each local as a name that may be assigned again, because it sees the program one statement at a
// time. Everything after the capture wants values: one definition each, and where control flow joins, a result of the
// branch or a carried value of the loop. This pass replays the program with an environment from captured locals to
// values; it also removes every `copy`.
//
// Jumps are gone by then: passes/structure_jumps.h.
//
// UserError: a while_ condition that assigns a local declared outside of it.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel promote(const ir::Kernel &captured);

}  // namespace samite::passes
