// Writes the loops of a definition once for each specialization, under its condition, and once for all other cases.
#pragma once

#include "samite/schedule/lowering.h"

namespace samite::schedules {

// Writes specialization number `i` under its condition, followed by the later ones as its alternatives, and finally the
// unspecialized loops.
void choose(Lowering &lowering, std::uint32_t f, std::size_t n, const Region &region, const DefinitionSchedule &all,
            std::size_t i);

}  // namespace samite::schedules
