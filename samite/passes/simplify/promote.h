// Converts the captured form to the structured form: assigned locals become values (SSA).
//
// The front end sees the program one statement at a time, so each of its locals may be assigned again. All later passes
// need values: a value has one definition, and where control flow joins it is a result of a branch or a carried value
// of a loop. This pass replays the program with an environment that maps captured locals to values. It also removes
// every `copy`.
//
// Runs after passes/simplify/structure_jumps.h, which removes the jumps.
//
// UserError if the condition of a while_ assigns a local that is declared outside of it.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel promote(const ir::Kernel &captured);

}  // namespace samite::passes
