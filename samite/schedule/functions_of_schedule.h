// What a schedule changes of the algorithm before any loop is made: the functions that it has beside those of the
// algorithm, by the directives in, clone_in and rfactor, in their order. The conditions of its specializations become
// Algorithm::conditions.
#pragma once

#include "samite/schedule/algorithm.h"

namespace samite::schedules {

// The directives that are left, for `scheduled`.
std::vector<ir::Directive> define_functions_of_schedule(Algorithm &algorithm, const ir::CapturedPipeline &captured,
                                                        const ir::CapturedSchedule &schedule);

}  // namespace samite::schedules
