// Writes loops twice: for whole pieces and for the rest.
#pragma once

#include "samite/schedule/sites.h"

namespace samite::schedules {

// Whether loops inside benefit from constant extents.
bool gains_by_whole_pieces(const Lowering &lowering, const Site &site, std::size_t from);

// If the pieces of this block, or of this iteration, are whole, the loops inside have constant extents and no guards.
// Loops inside the code for partial pieces are written only once. The loops from `first` on are written in two
// versions; those from `from` on are not open yet.
void whole_or_not(Lowering &lowering, const Site &site, std::size_t first, std::size_t from,
                  const std::function<void(const Site &)> &inside);

}  // namespace samite::schedules
