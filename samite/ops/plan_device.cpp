#include "samite/ops/plan_device.h"

#include "samite/runtime/cuda_device.h"

namespace samite::ops {

PlanDevice plan_device(Device device) {
  if (device.kind() == DeviceKind::cpu) return {};
  const driver::LaunchLimits &limits = CudaDevice::of(device.index())->context().limits();
  return {limits.compute_capability, limits.multiprocessors};
}

}  // namespace samite::ops
