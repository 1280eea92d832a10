// Turns the block loops or parallel loops of a definition into launches of kernels.
#pragma once

#include "samite/schedule/sites.h"

namespace samite::schedules {

// A kernel, from its loops of blocks on, which begin at loop `i`. On a GPU blocks whose pieces are not whole have a
// kernel of their own.
void launch(Lowering &lowering, const Site &site, std::size_t i);

}  // namespace samite::schedules
