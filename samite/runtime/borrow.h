// Buffers over memory that somebody else owns: a std::vector, an array of NumPy, a tensor of a framework.
//
//   std::vector<float> values(512 * 512);
//   Buffer<float> field = borrow(Device::cpu(), values.data(), {512, 512});   // no copy; `values` outlives `field`
//
// Such a buffer is used like any other. Nothing is copied, and writing to it writes to the owner's memory. Samite does
// not free the memory. It lets go of `owner`, if there is one, with the last handle, view or launch that has the
// memory; so a deleter is a std::shared_ptr with that deleter.
//
// On CUDA the owner works on the memory in the order of `stream`. A launch in another stream waits for what is in that
// one when the other first uses the memory. When `owner` is let go, `stream` has been made to wait for the others.
//
// Two buffers that borrow the same memory are known to share it, as two views of one buffer are. Their gradients are
// apart: borrow memory that tracks gradients once, and make views of that.
#pragma once

#include "samite/runtime/buffer.h"
#include "samite/runtime/stream.h"

namespace samite {

struct BorrowedMemory {
  Device device;
  void *data;  // the element at index (0, …, 0), an address on the device; may be null where there are no elements
  ScalarType type;
  Extents extents;
  std::optional<Strides> strides = {};  // in elements, of any sign; none: row-major without gaps
  bool read_only = false;               // whoever would write to it is refused
  std::shared_ptr<const void> owner = {};
  std::optional<Stream> stream = {};  // CUDA: else the device's standard stream
};

// UserError where the memory has no dimension, is null and has elements, is not aligned to its elements, reaches
// around the end of the address space, or where the stream is of another device. DeviceError where the device is not
// there.
AnyBuffer borrow(const BorrowedMemory &memory, SourceLocation where = std::source_location::current());

// Row-major memory without gaps; read-only where T is const.
template <Scalar T>
Buffer<std::remove_const_t<T>> borrow(Device device, T *data, const Extents &extents,
                                      const std::shared_ptr<const void> &owner = {},
                                      SourceLocation where = std::source_location::current()) {
  using Element = std::remove_const_t<T>;
  return Buffer<Element>(borrow({.device = device,
                                 .data = const_cast<Element *>(data),
                                 .type = scalar_type_of<Element>,
                                 .extents = extents,
                                 .read_only = std::is_const_v<T>,
                                 .owner = owner},
                                where));
}

}  // namespace samite
