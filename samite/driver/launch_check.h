// The limits of a device's launches.
#pragma once

#include "samite/driver/launch.h"

namespace samite::driver {

// UserError, led by `origin`, for the first thing that the context's device cannot launch.
void check_launch(const LaunchShape &shape, const Context &context, const Origin &origin);

}  // namespace samite::driver
