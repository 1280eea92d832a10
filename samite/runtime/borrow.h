// Buffers over memory with another owner: a std::vector, a NumPy array, a framework's tensor.
//
//   std::vector<float> values(512 * 512);
//   Buffer<float> field = borrow(Device::cpu(), values.data(), {512, 512});   // no copy; `values` outlives `field`
//
// Such a buffer is used like any other. Nothing is copied, and writing to it writes to the owner's memory. Samite does
// not free the memory. It releases `owner`, if there is one, with the last handle, view or launch that uses the memory;
// so a std::shared_ptr with a custom deleter works as a deleter.
//
// On CUDA the owner works on the memory in the order of `stream`. A launch in another stream waits for the work in that
// one at its first use of the memory. Before `owner` is released, `stream` is made to wait for the others.
//
// Two buffers that borrow the same memory are known to share it, like two views of one buffer. Their gradients are
// separate: borrow memory that tracks gradients once, and make views of that buffer.
#pragma once

#include "samite/runtime/buffer.h"
#include "samite/runtime/stream.h"

namespace samite {

struct BorrowedMemory {
  Device device;
  void *data;  // the element at index (0, …, 0), an address on the device; may be null if there are no elements
  ScalarType type;
  Extents extents;
  std::optional<Strides> strides = {};  // in elements, of any sign; default: row-major, contiguous
  bool read_only = false;               // writes to it are refused
  std::shared_ptr<const void> owner = {};
  std::optional<Stream> stream = {};  // CUDA; default: the device's standard stream
};

// UserError if the memory has no dimension, is null and has elements, is not aligned to its elements, wraps around the
// address space, or if the stream is of another device. DeviceError if the device does not exist.
AnyBuffer borrow(const BorrowedMemory &memory, SourceLocation where = std::source_location::current());

// Contiguous row-major memory; read-only if T is const.
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
