// An array in host memory for full-speed asynchronous copies to and from a device.
//
//   PinnedArray<float> samples{device, {n}};
//   std::ranges::copy(measured, samples.values().begin());
//   buffer.copy_from(samples, stream);            // returns at once
//   ...
//   buffer.copy_to(samples, stream);              // in order with the launches on the stream
//   for (float sample : samples.values()) ...     // waits for the copy
//
// A handle: copies share the memory, and a moved-from handle still does. The memory is freed with the last handle,
// after waiting for copies that still use it. The buffer may be destroyed at any time. values() waits for all earlier
// copies of this array; call synchronize() before using a span from an earlier call again. Copies on different streams
// are unordered.
//
// Such memory cannot be swapped out: use it for repeated copies, not for everything. On the CPU it is ordinary memory,
// and copies have completed when they return. Different handles may be used from different threads; accesses to the
// same elements must be synchronised by the caller.
#pragma once

#include "samite/base/scalar_type.h"
#include "samite/runtime/device.h"
#include "samite/runtime/extents.h"
#include "samite/runtime/stream.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace samite {

class AnyBuffer;

// The same with the element type known at run time.
class AnyPinnedArray {
 public:
  // Zeros. DeviceError if the host cannot pin that much memory, or the device does not exist.
  AnyPinnedArray(Device device, ScalarType type, const Extents &extents,
                 SourceLocation where = std::source_location::current());

  AnyPinnedArray(const AnyPinnedArray &) = default;
  AnyPinnedArray &operator=(const AnyPinnedArray &) = default;
  ~AnyPinnedArray() = default;

  Device device() const noexcept { return device_; }
  ScalarType type() const noexcept { return type_; }
  const Extents &extents() const noexcept { return extents_; }
  std::int64_t count() const noexcept { return extents_.count(); }

  // Returns when all requested copies have completed. DeviceError if one of them failed.
  void synchronize() const;

  std::string to_string() const;  // "PinnedArray<f32>(512, 512) of cuda:0"

  // For the library: the elements in row-major order, without waiting; null if there are none.
  std::byte *bytes() const noexcept;
  // Enclose the call that queues a copy in `stream`, which uses the memory from then on. If the second fails, the copy
  // has been waited for.
  void will_be_used_by(const Stream &stream) const;
  void used_by(const Stream &stream) const;

 private:
  struct Memory;

  Device device_;
  ScalarType type_;
  Extents extents_;
  std::shared_ptr<Memory> memory_;
};

template <Scalar T>
class PinnedArray : public AnyPinnedArray {
 public:
  PinnedArray(Device device, const Extents &extents, SourceLocation where = std::source_location::current())
      : AnyPinnedArray(device, scalar_type_of<T>, extents, where) {}

  // The elements in row-major order, after waiting for all requested copies.
  std::span<T> values() const {
    synchronize();
    return {reinterpret_cast<T *>(bytes()), static_cast<std::size_t>(count())};
  }
};

}  // namespace samite
