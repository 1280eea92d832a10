// What a device can launch.
#pragma once

#include "samite/driver/launch.h"

namespace samite::driver {

// UserError, led by `origin`, for the first thing that a device of `limits`, named `device`, cannot launch.
void check_launch(const LaunchShape &shape, const LaunchLimits &limits, const std::string &device,
                  const Origin &origin);

}  // namespace samite::driver
