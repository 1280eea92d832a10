// Device memory, allocated from a pool and freed in stream order.
//
// A handle: copies name the same memory, which is freed after the last. It keeps alive its pool, and the stream in
// whose order it is freed. Every function may be called from any thread.
#pragma once

#include "samite/driver/memory_pool.h"
#include "samite/driver/stream.h"

#include <cstddef>
#include <memory>
#include <mutex>

namespace samite::driver {

class DeviceMemory {
 public:
  // Allocates `bytes`, not initialised, for work that is enqueued on `stream` from now on; other streams must wait for
  // an event first. Freed in the order of the same stream. 0 bytes need no memory and have address 0.
  //
  // DriverError with the code out_of_memory, which says how much the pool and the device have; UserError if pool and
  // stream belong to different devices.
  static DeviceMemory allocate(const Stream &stream, const MemoryPool &pool, std::size_t bytes,
                               const Origin &origin = {});

  CUdeviceptr address() const noexcept { return state_->address; }
  std::size_t bytes() const noexcept { return state_->bytes; }
  const MemoryPool &pool() const noexcept { return state_->pool; }
  const Context &context() const noexcept { return pool().context(); }

  // From now on the memory is freed in the order of `stream`. The caller has made that stream wait for all other users.
  void free_in(const Stream &stream);

 private:
  struct State {
    State(const Stream &stream, const MemoryPool &pool, std::size_t bytes) : stream(stream), pool(pool), bytes(bytes) {}
    State(const State &) = delete;
    State &operator=(const State &) = delete;
    ~State();

    std::mutex mutex;  // of `stream`
    Stream stream;
    MemoryPool pool;
    std::size_t bytes;
    CUdeviceptr address = 0;
  };
  explicit DeviceMemory(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

}  // namespace samite::driver
