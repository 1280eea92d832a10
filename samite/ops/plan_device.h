// The facts about a device that plans of operations depend on.
#pragma once

#include "samite/passes/analysis/architecture.h"
#include "samite/runtime/device.h"

namespace samite::ops {

// Compute capability 0 is the CPU; 90 is 9.0.
struct PlanDevice {
  int compute_capability = 0, multiprocessors = 1;

  bool is_cpu() const { return compute_capability == 0; }
  // The capabilities of its multiprocessors.
  const passes::Architecture &architecture() const;
  // Whether bulk copies feed main loops that warp groups multiply there.
  bool has_warp_groups() const;
  // The most shared memory of a block; 0 for the CPU.
  std::int64_t shared_bytes() const;
};

// DeviceError if the device does not exist.
PlanDevice plan_device(Device device);

}  // namespace samite::ops
