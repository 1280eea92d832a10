// Host memory from and to which devices copy at full speed, and asynchronously.
//
// A handle: copies name the same memory, which is freed after the last. The owner must wait for copies that use it
// before releasing it. Every function may be called from any thread; accesses to the bytes are not synchronised.
#pragma once

#include "samite/driver/context.h"

#include <cstddef>
#include <memory>

namespace samite::driver {

class PinnedMemory {
 public:
  // Usable by all devices. DriverError with the code out_of_memory, which says how much was requested.
  static PinnedMemory allocate(const Context &context, std::size_t bytes);

  void *data() const noexcept { return data_.get(); }  // null if bytes() is 0
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  PinnedMemory(std::shared_ptr<void> data, std::size_t bytes) : data_(std::move(data)), bytes_(bytes) {}

  std::shared_ptr<void> data_;
  std::size_t bytes_;
};

}  // namespace samite::driver
