// What the plans of ready operations know of the device that they are for.
#pragma once

#include "samite/runtime/device.h"

namespace samite::ops {

// Compute capability 0 is the CPU; 90 is 9.0.
struct PlanDevice {
  int compute_capability = 0, multiprocessors = 1;

  bool is_cpu() const { return compute_capability == 0; }
};

// DeviceError where the device is not there.
PlanDevice plan_device(Device device);

}  // namespace samite::ops
