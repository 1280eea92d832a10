// A pool of device memory, allocated and freed in stream order; see device_memory.h.
//
// A handle: copies name the same pool, which is destroyed after the last. Every function may be called from any thread.
#pragma once

#include "samite/driver/context.h"

#include <cstdint>
#include <memory>

namespace samite::driver {

class MemoryPool {
 public:
  // The device's default pool, which other users of CUDA in the process share.
  static MemoryPool standard(const Context &context);

  // A separate pool of at most `max_bytes` (0: all of the device's memory). A limit needs CUDA 12.2.
  static MemoryPool create(const Context &context, std::uint64_t max_bytes = 0);

  const Context &context() const noexcept { return context_; }
  CUmemoryPool raw() const noexcept { return raw_.get(); }

  // How much free memory the pool may keep when a stream or event is waited for. The default is 0: each wait returns
  // all of it to the device.
  void keep(std::uint64_t bytes) const;
  // Returns free memory to the device, except for `bytes_to_keep`.
  void trim(std::uint64_t bytes_to_keep = 0) const;

  struct Usage {
    std::uint64_t reserved, used;  // bytes
  };
  Usage usage() const;

  // Lets kernels and copies on `peer` access memory of this pool; DeviceError if the hardware cannot.
  void allow_access_from(const Context &peer) const;

  // Throws the error for `bytes` that the pool could not allocate.
  [[noreturn]] void fail_out_of_memory(std::uint64_t bytes, const Origin &origin) const;

  friend bool operator==(const MemoryPool &a, const MemoryPool &b) { return a.raw_ == b.raw_; }

 private:
  MemoryPool(const Context &context, std::shared_ptr<CUmemPoolHandle_st> raw, std::uint64_t max_bytes);

  std::uint64_t attribute(MemoryPoolAttribute attribute) const;

  Context context_;
  std::shared_ptr<CUmemPoolHandle_st> raw_;
  std::uint64_t max_bytes_;
};

}  // namespace samite::driver
