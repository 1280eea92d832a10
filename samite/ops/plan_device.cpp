#include "samite/ops/plan_device.h"

#include "samite/jit/target.h"
#include "samite/runtime/cuda_device.h"

namespace samite::ops {

const passes::Architecture &PlanDevice::architecture() const {
  return jit::Target::of(compute_capability).architecture();
}

bool PlanDevice::has_warp_groups() const { return architecture().has_warp_groups(); }

std::int64_t PlanDevice::shared_bytes() const { return architecture().shared_bytes; }

PlanDevice plan_device(Device device) {
  if (device.kind() == DeviceKind::cpu) return {};
  const driver::LaunchLimits &limits = CudaDevice::of(device.index())->context().limits();
  return {limits.compute_capability, limits.multiprocessors};
}

}  // namespace samite::ops
