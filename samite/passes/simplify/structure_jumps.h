// Replaces jumps by branches: removes `Labelled` and `Leave` from the captured form.
//
// Each label that is left gets a bool local, which is false where the label's block begins and which a `Leave` sets.
// Code after a jump in the same block is unreachable and removed. Code after a statement that may jump runs only if
// that statement has not jumped:
//
//   if c { …; leave 0 } rest               if c { …; assign %left = true } else { rest }
//   if c { if d { leave 0 } … } rest       if c { … } %stays = not %left; if %stays { rest }
//
// A loop that no jump leaves, such as one with `continue` alone, stays as it is. A loop that a jump leaves runs until
// its condition fails or until a label around it is left:
//
//   for     becomes a `while` with a counter. A For cannot end early, and running its remaining iterations empty would
//           make a search as long as its whole range. Its adjoint is then that of a while. A For with `continue` alone
//           keeps the adjoint of a For.
//   while   tests in its condition whether it was left. If evaluating the condition once more could fail (it loads or
//           divides), the condition moves into the body, so that it is not evaluated after a `break`.
//
// Runs before `promote`, which turns the new locals into values. Flags that nothing reads are dead code.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel structure_jumps(const ir::Kernel &captured);

}  // namespace samite::passes
