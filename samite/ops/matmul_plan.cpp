#include "samite/ops/matmul_plan.h"

#include "samite/runtime/cuda_device.h"

#include <bit>
#include <span>

namespace samite::ops {
namespace {

// The largest first.
constexpr MatmulPlan groups_of_warps[] = {
    {128, 256, 64, 256, 4}, {128, 128, 64, 256, 4}, {64, 128, 64, 128, 4}, {64, 64, 64, 128, 4}, {16, 64, 64, 128, 3}};
constexpr MatmulPlan sixteen_bits[] = {{128, 128, 32, 256, 3}, {64, 64, 32, 128, 3}, {16, 64, 64, 128, 3}};
constexpr MatmulPlan eight_bits[] = {{128, 128, 64, 256, 3}, {64, 64, 64, 128, 3}, {16, 64, 64, 128, 3}};
constexpr MatmulPlan threads_multiply[] = {{128, 128, 32, 256, 2}, {64, 64, 32, 128, 2}, {16, 64, 32, 128, 2}};
constexpr MatmulPlan rounded_to_tf32[] = {{128, 128, 32, 128, 2}, {64, 64, 32, 128, 2}, {16, 64, 32, 128, 2}};
constexpr MatmulPlan doubles[] = {{64, 64, 16, 128, 3}, {32, 32, 16, 128, 3}, {16, 32, 16, 128, 3}};
// A thread of the CPU has its tile of the result in its first cache.
constexpr MatmulPlan cpu[] = {{64, 64, 64, 32, 1}, {16, 64, 64, 32, 1}, {4, 64, 64, 32, 1}, {1, 64, 64, 32, 1}};

std::span<const MatmulPlan> plans(ScalarType factor, tile::Precision precision, int capability) {
  if (capability == 0) return cpu;
  switch (factor) {
    case ScalarType::Float16:
    case ScalarType::BFloat16:
      if (capability / 10 == 9) return groups_of_warps;
      return sixteen_bits;
    case ScalarType::Float64: return doubles;
    case ScalarType::Float32:
      if (precision == tile::Precision::tf32) return rounded_to_tf32;
      return threads_multiply;
    default:
      if (size_of(factor) == 1) return eight_bits;
      return threads_multiply;
  }
}

}  // namespace

Extents matmul_blocks(const MatmulShape &shape, const MatmulPlan &plan) {
  return {shape.batches, detail::ceil_div(shape.rows, plan.rows), detail::ceil_div(shape.columns, plan.columns)};
}

MatmulPlan matmul_plan(const MatmulShape &shape, ScalarType factor, tile::Precision precision,
                       const MatmulDevice &device) {
  const auto candidates = plans(factor, precision, device.compute_capability);
  const auto most_rows = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(shape.rows)));
  for (const MatmulPlan &plan : candidates) {
    if (plan.rows > most_rows) continue;  // much of the tile would be outside of the result
    if (device.compute_capability == 0 || matmul_blocks(shape, plan).count() >= device.multiprocessors) return plan;
  }
  return candidates.back();
}

MatmulDevice matmul_device(Device device) {
  if (device.kind() == DeviceKind::cpu) return {};
  const driver::LaunchLimits &limits = CudaDevice::of(device.index())->context().limits();
  return {limits.compute_capability, limits.multiprocessors};
}

}  // namespace samite::ops
