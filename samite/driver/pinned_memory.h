// Memory of the host that devices copy to and from at full speed, and asynchronously.
//
// A handle: copies name the same memory, which is freed after the last. The owner waits for copies that use it before
// he lets it go. Every function may be called from any thread; who reads and writes the bytes keeps order himself.
#pragma once

#include "samite/driver/context.h"

#include <cstddef>
#include <memory>

namespace samite::driver {

class PinnedMemory {
 public:
  // For all devices. DriverError with the code out_of_memory that says how much was asked for.
  static PinnedMemory allocate(const Context &context, std::size_t bytes);

  void *data() const noexcept { return data_.get(); }  // null where bytes() is 0
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  PinnedMemory(std::shared_ptr<void> data, std::size_t bytes) : data_(std::move(data)), bytes_(bytes) {}

  std::shared_ptr<void> data_;
  std::size_t bytes_;
};

}  // namespace samite::driver
