// The device of tests that use a single one.
#pragma once

#include "tests/runtime/test_device.h"

namespace samite::test::on_device {

inline const Device device = test::device();

}  // namespace samite::test::on_device
