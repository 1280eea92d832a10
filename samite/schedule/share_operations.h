// Shares equal pure operations within a block and its nested blocks.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::schedules {

// The body of a lowered kernel.
ir::Block share_operations(const ir::Block &body);

}  // namespace samite::schedules
