// Makes branches of jumps: the captured form without `Labelled` and `Leave`.
//
// Each label that is left gets a bool local. It is false where the label's block begins, and a `Leave` sets it. What
// comes after a jump in its block is unreachable, and removed. What comes after a statement that may jump runs only if
// it has not jumped:
//
//   if c { …; leave 0 } rest               if c { …; assign %left = true } else { rest }
//   if c { if d { leave 0 } … } rest       if c { … } %stays = not %left; if %stays { rest }
//
// A loop that no jump leaves, as one with `continue` alone, stays as it is. A loop that a jump leaves runs until its
// condition fails or a label around it is left:
//
//   for     becomes a `while` with a counter. A For cannot end early: to run the rest of its iterations empty would
//           make a search as long as its whole range. The adjoint is then that of a while. A For with `continue` alone
//           keeps the adjoint of a For.
//   while   tests in its condition whether it was left. Where the condition could fail when computed once more (it
//           loads, it divides), it moves into the body, so that it is not computed after a `break`.
//
// Runs before `promote`, which makes values of the new locals. Flags that nothing reads are dead code.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel structure_jumps(const ir::Kernel &captured);

}  // namespace samite::passes
