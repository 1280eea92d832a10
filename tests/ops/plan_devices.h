// Devices that operations are planned for: an H100, an A100 and the CPU.
#pragma once

#include "samite/ops/plan_device.h"

namespace samite::ops {

inline constexpr PlanDevice hopper{90, 132}, ampere{80, 108}, cpu{};

}  // namespace samite::ops
