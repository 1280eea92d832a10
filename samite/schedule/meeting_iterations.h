// Detects broken promises: concurrent iterations that update one element.
#pragma once

#include "samite/schedule/sites.h"

namespace samite::schedules {

// UserError if update().allow_race_conditions() promises that no two iterations change one element, but two iterations
// of a loop over tasks, vectors or threads certainly do. Loaded indices are unknown, and the promise is believed.
void refuse_meeting_iterations(const Lowering &lowering, const Site &site);

}  // namespace samite::schedules
