// Writes the functions that are computed inside of a definition's loops, before the calls that need them.
#pragma once

#include "samite/schedule/sliding.h"

namespace samite::schedules {

// The iteration before the one that is written, of a loop whose iterations follow each other.
struct Earlier {
  const Site *before = nullptr;               // null in the first one
  std::optional<passes::Symbol> symbol = {};  // of a loop: 0 in the first iteration
  const Sliding *sliding = nullptr;           // of a loop that has further iterations before the first one
};

// Computes what is to be computed in the loop before number `from`.
void produce(Lowering &lowering, const Site &site, std::size_t from, const Earlier &earlier = {});
// The same in any of the loops from number `first` to before number `from`.
void produce_of(Lowering &lowering, const Site &site, std::size_t from, std::size_t first, const Earlier &earlier = {});

}  // namespace samite::schedules
