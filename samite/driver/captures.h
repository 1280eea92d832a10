// The captures that run in a context, and the kernels that were launched into them.
//
// A captured launch returns at once and is run by the graph later, so the graph must keep its kernel alive. Only the
// driver knows which streams take part in a capture, since a stream joins by waiting for an event; it is asked while
// any capture runs, and a launch pays one load otherwise.
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
    const char *kernel;  // its name
    std::shared_ptr<const void> owner;
  };
  using Kept = std::vector<Launched>;  // in the order of the launches

  bool any() const noexcept { return running_.load(std::memory_order_relaxed) != 0; }

  // Between these two, what keep() is given for the driver's capture `id` is kept; end() returns it.
  void begin(std::uint64_t id);
  Kept end(std::uint64_t id) noexcept;

  // Nothing where no such capture runs here: someone else's.
  void keep(std::uint64_t id, Launched launched);

 private:
  std::atomic<int> running_{0};
  std::mutex mutex_;
  std::map<std::uint64_t, Kept> kept_;
};

}  // namespace samite::driver
