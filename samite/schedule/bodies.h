// The innermost statements: the values of one point are computed and stored.
#pragma once

#include "samite/schedule/sites.h"

namespace samite::schedules {

void body(Lowering &lowering, const Site &site);

}  // namespace samite::schedules
