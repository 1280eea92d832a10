// The facts about a device that plans of operations depend on.
#pragma once

#include "samite/runtime/device.h"

namespace samite::ops {

// Compute capability 0 is the CPU; 90 is 9.0.
struct PlanDevice {
  int compute_capability = 0, multiprocessors = 1;

  bool is_cpu() const { return compute_capability == 0; }
};

// DeviceError if the device does not exist.
PlanDevice plan_device(Device device);

}  // namespace samite::ops
