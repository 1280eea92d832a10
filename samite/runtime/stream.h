// A queue of work on one device, which runs in order.
//
// On the CPU a launch or copy has completed when its call returns, whatever stream it names, so synchronize() never
// waits and any two calls from one thread are ordered. Calls from different threads are not ordered by the stream.
//
// On CUDA calls return when the work is queued. Two streams are unordered, unless one waits for an event of the other.
// Reports of instances (a failed check, an out-of-bounds index in debug mode, printed lines) are delivered by the
// synchronize() that waits for them.
//
// A Stream is a handle: copies name the same queue, and a moved-from one still does. Thread-safe.
#pragma once

#include "samite/base/source_location.h"
#include "samite/runtime/device.h"

#include <iosfwd>
#include <memory>
#include <string>

namespace samite {

class CudaStream;
class Event;

class Stream {
 public:
  // A new queue, apart from the device's standard one. A lower `priority` is more urgent, within the device's range;
  // the CPU ignores it. DeviceError if the device does not exist.
  explicit Stream(Device device, int priority = 0);

  Stream(const Stream &) = default;
  Stream &operator=(const Stream &) = default;
  ~Stream() = default;

  // The default queue.
  static Stream standard(Device device);

  // A queue with another owner, which keeps it alive: a CUstream or cudaStream_t, such as a framework's current one;
  // null is CUDA's legacy default stream. UserError on the CPU, and for a stream of another device.
  static Stream borrow(Device device, void *native, SourceLocation where = std::source_location::current());

  Device device() const noexcept { return device_; }

  // Returns when all queued work has completed; throws the first error that an instance has reported since the last
  // time: UserError. DeviceError if the work failed on the device.
  void synchronize() const;
  // Whether all work has completed. DeviceError as above.
  bool finished() const;
  // Later work waits until `event` is reached, which may be of another device.
  void wait(const Event &event) const;

  // The CUstream; null on the CPU.
  void *native() const noexcept;

  std::string to_string() const;  // "stream on cpu"

  friend bool operator==(const Stream &a, const Stream &b) noexcept;

  // For the library: null on the CPU.
  CudaStream *cuda() const noexcept { return cuda_.get(); }
  const std::shared_ptr<CudaStream> &cuda_handle() const noexcept { return cuda_; }
  Stream(Device device, std::shared_ptr<CudaStream> cuda) noexcept : device_(device), cuda_(std::move(cuda)) {}

 private:
  Device device_;
  std::shared_ptr<CudaStream> cuda_;
};

std::ostream &operator<<(std::ostream &stream, const Stream &value);

}  // namespace samite
