// A queue of work on one device: what is put in runs in that order.
//
// On the CPU a launch or copy has completed when its call returns, whatever stream it names, so synchronize() has
// nothing to wait for and any two calls from one thread are in order. Calls from different threads are not ordered by
// the stream.
//
// On CUDA the calls return when the work is in the queue. Two streams are not ordered, unless one waits for an event of
// the other. What instances report (a failed check, an index outside in debug mode, printed lines) is told by the
// synchronize() that waits for them.
//
// A Stream is a handle: copies name the same queue, and one that was moved from still does. Every function may be
// called from any thread.
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
  // A new queue, apart from the device's standard one. A lower `priority` is more urgent, within what the device has;
  // the CPU knows none. DeviceError where the device is not there.
  explicit Stream(Device device, int priority = 0);

  Stream(const Stream &) = default;
  Stream &operator=(const Stream &) = default;
  ~Stream() = default;

  // The queue that is used where none is named.
  static Stream standard(Device device);

  // A queue that someone else made and keeps alive: a CUstream or cudaStream_t, such as a framework's current one; null
  // is CUDA's legacy default stream. UserError on the CPU, and where it is of another device.
  static Stream borrow(Device device, void *native, SourceLocation where = std::source_location::current());

  Device device() const noexcept { return device_; }

  // Returns when all that was put in has completed; throws the first error that an instance has reported since the last
  // time: UserError. DeviceError where the work failed on the device.
  void synchronize() const;
  // Whether all has completed. DeviceError as above.
  bool finished() const;
  // What is put in from now on waits until `event` is reached, which may be of another device.
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
