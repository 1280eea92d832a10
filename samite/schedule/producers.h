// Writes the functions that are computed inside a definition's loops, before the calls that need them.
#pragma once

#include "samite/schedule/sliding.h"

namespace samite::schedules {

// The previous iteration of a loop whose iterations run in order.
struct Earlier {
  const Site *before = nullptr;               // null in the first one
  std::optional<passes::Symbol> symbol = {};  // of a loop: 0 in the first iteration
  const Sliding *sliding = nullptr;           // of a loop with warm-up iterations
};

// Computes the functions that belong in the loop before number `from`.
void produce(Lowering &lowering, const Site &site, std::size_t from, const Earlier &earlier = {});
// The same for any of the loops from number `first` to before number `from`.
void produce_of(Lowering &lowering, const Site &site, std::size_t from, std::size_t first, const Earlier &earlier = {});

}  // namespace samite::schedules
