// Applies the directives that change the algorithm before any loop is made: in, clone_in and rfactor add functions, in
// the order of the directives. The conditions of specializations become Algorithm::conditions.
#pragma once

#include "samite/schedule/algorithm.h"

namespace samite::schedules {

// Returns the remaining directives, for `scheduled`.
std::vector<ir::Directive> define_functions_of_schedule(Algorithm &algorithm, const ir::CapturedPipeline &captured,
                                                        const ir::CapturedSchedule &schedule);

}  // namespace samite::schedules
