// Jumps become branches: the captured form without `Labelled` and `Leave`.
//
// Each label that is left gets a bool local, false where its block begins, which a `Leave` sets. What comes after a
// jump in its block is unreachable, and dropped. What comes after a statement that may have jumped runs where it has
// not:
//
//   if c { …; leave 0 } rest               if c { …; assign %left = true } else { rest }
//   if c { if d { leave 0 } … } rest       if c { … } %stays = not %left; if %stays { rest }
//
// A loop that no jump leaves, as one with `continue` alone, stays as it is. One that a jump leaves goes on until its
// condition fails or a label around it is left:
//
//   for     becomes a `while` with a counter. A For cannot end early, and to run the rest of its iterations empty would
//           make a search as long as its range: nothing that a vector's lanes do ends it for all of them. Its adjoint
//           is that of a while; the For of a `continue` keeps the adjoint of a For.
//   while   asks in its condition whether it was left. Where computing the condition once more could fail (it loads, it
//           divides), the condition moves into the body, so that it is not computed after a `break`.
//
// Runs between capture and `promote`, which makes values of the new locals. Flags that nothing asks for are dead code.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel structure_jumps(const ir::Kernel &captured);

}  // namespace samite::passes
