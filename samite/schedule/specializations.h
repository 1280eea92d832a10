// Writes the loops of a definition once for each specialization, under its condition, and once for all other cases.
#pragma once

#include "samite/schedule/lowering.h"

namespace samite::schedules {

// The specialization of number `i` where its condition holds, or else one of those behind it, or the loops of no
// condition.
void choose(Lowering &lowering, std::uint32_t f, std::size_t n, const Region &region, const DefinitionSchedule &all,
            std::size_t i);

}  // namespace samite::schedules
