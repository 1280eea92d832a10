// The device for tests of buffers on any device.
#pragma once

#include "samite/runtime/device.h"

namespace samite::test {

inline const Device cpu = Device::cpu();

}  // namespace samite::test
