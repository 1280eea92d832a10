// Turns the block loops or parallel loops of a definition into launches of kernels.
#pragma once

#include "samite/schedule/sites.h"

namespace samite::schedules {

// Writes a kernel, from its block loops on, which begin at loop `i`. On a GPU, blocks with partial pieces have a
// separate kernel.
void launch(Lowering &lowering, const Site &site, std::size_t i);

}  // namespace samite::schedules
