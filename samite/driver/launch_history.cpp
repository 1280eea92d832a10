#include "samite/driver/launch_history.h"

#include <fmt/format.h>

#include <algorithm>

namespace samite::driver {

std::string LaunchRecord::to_string() const {
  // A graph has no grid.
  std::string text = grid[0] != 0 ? fmt::format("kernel \"{}\"", kernel) : kernel;
  if (where.known()) text += " at " + where.to_string();
  if (grid[0] != 0)
    text += fmt::format(", grid {}x{}x{}, block {}x{}x{}", grid[0], grid[1], grid[2], block[0], block[1], block[2]);
  return text;
}

void LaunchHistory::record(const LaunchRecord &launch) noexcept {
  const std::uint64_t number = count_.fetch_add(1, std::memory_order_acq_rel) + 1;
  Slot &slot = slots_[(number - 1) % length];
  slot.number.store(0, std::memory_order_release);
  slot.kernel.store(launch.kernel, std::memory_order_release);
  slot.file.store(launch.where.file, std::memory_order_release);
  slot.line.store(launch.where.line, std::memory_order_release);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    slot.extents[axis].store(launch.grid[axis], std::memory_order_release);
    slot.extents[axis + 3].store(launch.block[axis], std::memory_order_release);
  }
  slot.number.store(number, std::memory_order_release);
}

void LaunchHistory::completed(std::uint64_t count) noexcept {
  std::uint64_t known = completed_.load(std::memory_order_relaxed);
  while (known < count && !completed_.compare_exchange_weak(known, count, std::memory_order_relaxed)) {
  }
}

std::vector<LaunchRecord> LaunchHistory::pending() const {
  const std::uint64_t last = count(), done = completed_.load(std::memory_order_relaxed);
  const std::uint64_t first = std::max(done, last > length ? last - length : 0);
  std::vector<LaunchRecord> launches;
  for (std::uint64_t number = first + 1; number <= last; ++number) {
    const Slot &slot = slots_[(number - 1) % length];
    if (slot.number.load(std::memory_order_acquire) != number) continue;
    LaunchRecord launch{slot.kernel.load(std::memory_order_acquire),
                        {slot.file.load(std::memory_order_acquire), slot.line.load(std::memory_order_acquire)}};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      launch.grid[axis] = slot.extents[axis].load(std::memory_order_acquire);
      launch.block[axis] = slot.extents[axis + 3].load(std::memory_order_acquire);
    }
    if (slot.number.load(std::memory_order_acquire) == number) launches.push_back(launch);
  }
  return launches;
}

}  // namespace samite::driver
