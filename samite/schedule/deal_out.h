// Distributes work over the threads of a block, for definitions that have no thread loops of their own.
#pragma once

#include "samite/schedule/lowering.h"

namespace samite::schedules {

// All elements of the region, over the threads of the block.
DefinitionSchedule dealt_out(const Lowering &lowering, std::uint32_t f, std::size_t n, const Region &region);

}  // namespace samite::schedules
