// Computes equal operations once: in a block, and in the blocks inside of it. Of pure operations alone.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::schedules {

// The body of a lowered kernel.
ir::Block share_operations(const ir::Block &body);

}  // namespace samite::schedules
