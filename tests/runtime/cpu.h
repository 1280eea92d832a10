// The device of tests of what buffers do anywhere.
#pragma once

#include "samite/runtime/device.h"

namespace samite::test {

inline const Device cpu = Device::cpu();

}  // namespace samite::test
