// The captures that run in a context, and the kernels that were launched into them.
//
// A captured launch returns at once and is run by the graph later, so the graph must keep its kernel alive. A stream
// joins a capture by waiting for an event, so only the driver knows which streams take part. It is asked only while a
// capture runs; otherwise a launch pays one load.
//
// Every function may be called from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace samite::driver {

class Captures {
 public:
  struct Launched {
    const char *kernel;  // name
    std::shared_ptr<const void> owner;
  };
  using Kept = std::vector<Launched>;  // in the order of the launches

  bool any() const noexcept { return running_.load(std::memory_order_relaxed) != 0; }

  // From begin to end, collects the arguments of keep() for the driver's capture `id`; end() returns them.
  void begin(std::uint64_t id);
  Kept end(std::uint64_t id) noexcept;

  // Does nothing if that capture was not started here.
  void keep(std::uint64_t id, Launched launched);

 private:
  std::atomic<int> running_{0};
  std::mutex mutex_;
  std::map<std::uint64_t, Kept> kept_;
};

}  // namespace samite::driver
