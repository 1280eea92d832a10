// Copies and fills of arrays: within the host, within a device, and between any two of them.
//
// An array is described by strides, see strided.h. Operations on host memory have completed when the call returns;
// copies within and between devices are ordered with all work in the devices' standard streams, and with other streams'
// work on the same memory. Thread-safe.
#pragma once

#include "samite/runtime/storage.h"
#include "samite/runtime/strided.h"

#include <cstdint>
#include <optional>

namespace samite {
namespace driver {
class Stream;
}

class AnyBuffer;

// The elements of an array: the address of the one at index (0, …, 0), and its memory.
struct Place {
  std::byte *data;
  Strides strides;
  const Storage *storage;  // null for host memory without a buffer

  bool on_host() const { return storage == nullptr || storage->cuda() == nullptr; }
};
// The place of a buffer's elements.
Place place_of(const AnyBuffer &buffer);

// Correct for overlapping arrays too, as if the whole source were read before the first write. DeviceError.
void copy_array(const Extents &extents, std::size_t element_bytes, const Place &to, const Place &from);

void fill_array(const Extents &extents, std::size_t element_bytes, const Place &to, const void *value);

// Parts of the above, if at least one array is on a CUDA device.

// Queues a copy between non-overlapping arrays of one device in `stream`, as a kernel. An array may be one element with
// strides of 0.
void copy_by_kernel(const Extents &extents, std::size_t element_bytes, const Place &to, const Place &from,
                    const driver::Stream &stream);
// The repeated word that fills the array; empty if the driver's own fill does not suffice.
std::optional<std::uint32_t> word_that_repeats(const Extents &extents, std::size_t element_bytes, const Place &to,
                                               const void *value);

}  // namespace samite
