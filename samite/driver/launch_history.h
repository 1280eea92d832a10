// The latest launches of a stream, for error messages about faults.
//
// A fault is reported by whatever call comes next, so a stream remembers its launches. Recording is on the path of
// every launch: a few plain stores, no lock, no allocation. Every function may be called from any thread; a slot that
// is being written while it is read is skipped.
#pragma once

#include "samite/base/source_location.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace samite::driver {

struct LaunchRecord {
  const char *kernel = "";  // its name, or the name for a graph; never freed
  SourceLocation where{};
  std::array<std::uint32_t, 3> grid{}, block{};  // zeros for a graph

  std::string to_string() const;  // "kernel \"axpy\" at file.cpp:12, grid 4x1x1, block 128x1x1"
};

class LaunchHistory {
 public:
  static constexpr std::uint64_t length = 8;

  void record(const LaunchRecord &launch) noexcept;

  // The number of launches recorded so far.
  std::uint64_t count() const noexcept { return count_.load(std::memory_order_acquire); }

  // The first `count` launches have completed without a fault.
  void completed(std::uint64_t count) noexcept;

  // The launches that are not known to have completed, at most `length` of them, latest last.
  std::vector<LaunchRecord> pending() const;

 private:
  struct alignas(64) Slot {                // one cache line for each launch
    std::atomic<std::uint64_t> number{0};  // of the launch in it, from 1; 0 while it is written
    std::atomic<const char *> kernel{""}, file{""};
    std::atomic<std::uint32_t> line{0};
    std::array<std::atomic<std::uint32_t>, 6> extents{};
  };

  std::array<Slot, length> slots_;
  std::atomic<std::uint64_t> count_{0}, completed_{0};
};

}  // namespace samite::driver
