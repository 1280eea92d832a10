// Memory of a device, and the pool that it comes from.
//
// Handles: copies name the same pool and the same memory. Memory keeps its pool and the stream alive in whose order it
// is freed. Every function may be called from any thread.
#pragma once

#include "samite/driver/stream.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace samite::driver {

class MemoryPool {
 public:
  // The device's own pool, which other users of CUDA in the process share.
  static MemoryPool standard(const Context &context);

  // A pool of its own, that holds at most `max_bytes` (0: as much as the device has). A limit needs CUDA 12.2.
  static MemoryPool create(const Context &context, std::uint64_t max_bytes = 0);

  const Context &context() const noexcept { return context_; }
  CUmemoryPool raw() const noexcept { return raw_.get(); }

  // How much free memory the pool may keep when a stream or event is waited for; at first 0, so that each wait gives
  // all of it back to the device.
  void keep(std::uint64_t bytes) const;
  // Gives free memory back to the device, except for `bytes_to_keep`.
  void trim(std::uint64_t bytes_to_keep = 0) const;

  struct Usage {
    std::uint64_t reserved, used;  // bytes
  };
  Usage usage() const;

  // Lets kernels and copies on `peer` reach memory of this pool; DeviceError where the hardware cannot.
  void allow_access_from(const Context &peer) const;

  friend bool operator==(const MemoryPool &a, const MemoryPool &b) { return a.raw_ == b.raw_; }

 private:
  friend class DeviceMemory;
  MemoryPool(const Context &context, std::shared_ptr<CUmemPoolHandle_st> raw, std::uint64_t max_bytes);

  std::uint64_t attribute(MemoryPoolAttribute attribute) const;
  [[noreturn]] void fail_out_of_memory(std::uint64_t bytes, const Origin &origin) const;

  Context context_;
  std::shared_ptr<CUmemPoolHandle_st> raw_;
  std::uint64_t max_bytes_;
};

class DeviceMemory {
 public:
  // `bytes` of memory, not initialised, for work that is put into `stream` from now on; other streams must wait for an
  // event first. It is freed in the order of the same stream. 0 bytes need no memory and have address 0.
  //
  // DriverError with the code out_of_memory, which says how much the pool and the device have; UserError where pool and
  // stream are of different devices.
  static DeviceMemory allocate(const Stream &stream, const MemoryPool &pool, std::size_t bytes,
                               const Origin &origin = {});

  CUdeviceptr address() const noexcept { return state_->address; }
  std::size_t bytes() const noexcept { return state_->bytes; }
  const MemoryPool &pool() const noexcept { return state_->pool; }
  const Context &context() const noexcept { return pool().context(); }

  // From now on the memory is freed in the order of `stream`, which the caller has made wait for all other users.
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
