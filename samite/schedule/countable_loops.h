// Refuses launches in which a scheduled loop has more iterations than 32 bits can count.
#pragma once

#include "samite/schedule/sites.h"

namespace samite::schedules {

// Adds a definition's requirements on a launch: fused loops have at most 2^31 - 1 iterations together, and the last
// piece of a split, which may exceed the whole, has indices of 32 bits. The kernel checks fused loops whose length only
// it can compute. UserError if no launch can meet a requirement, or if nothing outside of the loops can check it.
void require_countable_loops(Lowering &lowering, const Site &site);

}  // namespace samite::schedules
