// Inlines functions into the definitions that call them, as their schedules say.
#pragma once

#include "samite/schedule/directives.h"

namespace samite::schedules {

// The same algorithm, in which nothing calls a function that is inlined. UserError where one of those that call each
// other grows beyond any use.
Algorithm with_inlined_calls(Algorithm algorithm, const std::vector<FunctionSchedule> &schedules);

}  // namespace samite::schedules
