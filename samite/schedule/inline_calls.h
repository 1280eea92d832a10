// Inlines functions into the definitions that call them, as their schedules say.
#pragma once

#include "samite/schedule/directives.h"

namespace samite::schedules {

// The same algorithm without calls of inlined functions. UserError if nested inlining makes a definition too large.
Algorithm with_inlined_calls(Algorithm algorithm, const std::vector<FunctionSchedule> &schedules);

}  // namespace samite::schedules
