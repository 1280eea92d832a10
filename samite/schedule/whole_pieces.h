// Writes loops twice: for whole pieces and for the rest.
#pragma once

#include "samite/schedule/sites.h"

namespace samite::schedules {

// Whether loops inside want constant extents.
bool gains_by_whole_pieces(const Lowering &lowering, const Site &site, std::size_t from);

// Where the pieces of this block, or of this iteration, are whole, the loops inside have constant extents and nothing
// is guarded. Loops inside of what is written for pieces that are not whole are written once. Loops from `first` on
// are those that are made one or the other way, those from `from` on are not open yet.
void whole_or_not(Lowering &lowering, const Site &site, std::size_t first, std::size_t from,
                  const std::function<void(const Site &)> &inside);

}  // namespace samite::schedules
