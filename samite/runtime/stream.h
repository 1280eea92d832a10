// A queue of work on one device: what is put in runs in that order.
//
// On the CPU a launch or copy has completed when its call returns, whatever stream it names, so synchronize() has
// nothing to wait for and any two calls from one thread are in order. Calls from different threads are not ordered by
// the stream.
//
// A Stream is a handle: copies name the same queue. Every function may be called from any thread.
#pragma once

#include "samite/runtime/device.h"

#include <iosfwd>
#include <string>

namespace samite {

class Stream {
 public:
  // A new queue, apart from the device's standard one.
  explicit Stream(Device device) noexcept : device_(device) {}

  // The queue that is used where none is named.
  static Stream standard(Device device) noexcept { return Stream(device); }

  Device device() const noexcept { return device_; }

  // Returns when all that was put in has completed.
  void synchronize() const;

  std::string to_string() const;  // "stream on cpu"

 private:
  Device device_;
};

std::ostream &operator<<(std::ostream &stream, const Stream &value);

}  // namespace samite
