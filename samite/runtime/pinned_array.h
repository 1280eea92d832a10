// An array in the host's memory that a device copies to and from at full speed, while the host does other things.
//
//   PinnedArray<float> samples{device, {n}};
//   std::ranges::copy(measured, samples.values().begin());
//   buffer.copy_from(samples, stream);            // returns at once
//   ...
//   buffer.copy_to(samples, stream);              // in order with the launches on the stream
//   for (float sample : samples.values()) ...     // waits for the copy
//
// A handle: copies name the same memory, and a handle that was moved from still does. The memory is freed after the
// last, and then waits for copies that still use it. The buffer may go at any time. values() waits for all copies of
// this array that were asked for before, whatever they do; who has kept the span from an earlier call waits with
// synchronize() before he uses it again. Copies on different streams are not in order with one another.
//
// Such memory cannot be swapped out: take it for what is copied again and again, not for everything. On the CPU it is
// ordinary memory, and copies have completed when they return. Different handles may be used from different threads;
// who writes elements that another thread uses keeps order himself.
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

// The same with the element type known when the program runs.
class AnyPinnedArray {
 public:
  // Zeros. DeviceError where the host has not so much memory to pin, or the device is not there.
  AnyPinnedArray(Device device, ScalarType type, const Extents &extents,
                 SourceLocation where = std::source_location::current());

  AnyPinnedArray(const AnyPinnedArray &) = default;
  AnyPinnedArray &operator=(const AnyPinnedArray &) = default;
  ~AnyPinnedArray() = default;

  Device device() const noexcept { return device_; }
  ScalarType type() const noexcept { return type_; }
  const Extents &extents() const noexcept { return extents_; }
  std::int64_t count() const noexcept { return extents_.count(); }

  // Returns when all copies that were asked for have completed. DeviceError where one of them failed.
  void synchronize() const;

  std::string to_string() const;  // "PinnedArray<f32>(512, 512) of cuda:0"

  // For the library: the elements in row-major order, without waiting; null where there are none.
  std::byte *bytes() const noexcept;
  // Around the call that puts a copy into `stream`, which uses the memory from then on. Where the second fails, the
  // copy has been waited for.
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

  // The elements in row-major order, when all copies that were asked for have completed.
  std::span<T> values() const {
    synchronize();
    return {reinterpret_cast<T *>(bytes()), static_cast<std::size_t>(count())};
  }
};

}  // namespace samite
