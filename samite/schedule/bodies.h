// Writes the innermost statements of a definition: computes and stores the values of one point.
#pragma once

#include "samite/schedule/sites.h"

namespace samite::schedules {

void body(Lowering &lowering, const Site &site);

}  // namespace samite::schedules
