// A promise that is seen to be broken: iterations that run at the same time and update one element.
#pragma once

#include "samite/schedule/sites.h"

namespace samite::schedules {

// UserError where update().allow_race_conditions() says that no two iterations change one element, and two of a loop
// over tasks, vectors or threads surely do. What depends on indices that are loaded is not known, and believed.
void refuse_meeting_iterations(const Lowering &lowering, const Site &site);

}  // namespace samite::schedules
