// Refuses launches in which a schedule makes a loop with more iterations than 32 bits count.
#pragma once

#include "samite/schedule/sites.h"

namespace samite::schedules {

// What the loops of a definition require of a launch: that fused loops have no more than 2^31 - 1 iterations together,
// and that the last piece of a split, which may lie beyond the whole, has indices of 32 bits. Where only the kernel can
// tell how long fused loops are, it checks that. UserError where no launch can meet it, or nothing outside of the loops
// can tell.
void require_countable_loops(Lowering &lowering, const Site &site);

}  // namespace samite::schedules
