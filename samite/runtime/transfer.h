// Copying and filling arrays wherever they lie: within the host, within a device, and between any two of them.
//
// An array is seen through strides, as strided.h says. What touches host memory has completed when the call returns;
// copies within and between devices are in order with everything that is put into the devices' standard streams, and
// with the work that other streams do on the same memory. Every function may be called from any thread.
#pragma once

#include "samite/runtime/storage.h"
#include "samite/runtime/strided.h"

#include <cstdint>
#include <optional>

namespace samite {
namespace driver {
class Stream;
}

// The elements of an array: the address of the one at index (0, …, 0), and where that is.
struct Place {
  std::byte *data;
  Strides strides;
  const Storage *storage;  // null for memory of the host that no buffer owns

  bool on_host() const { return storage == nullptr || storage->cuda() == nullptr; }
};

// Right for overlapping arrays too, as if the source were read whole before the first write. DeviceError.
void copy_array(const Extents &extents, std::size_t element_bytes, const Place &to, const Place &from);

void fill_array(const Extents &extents, std::size_t element_bytes, const Place &to, const void *value);

// What the above are made of, where one array or both are on a CUDA device.

// Puts a copy between arrays of one device, which do not overlap, into `stream`, as a kernel. An array may be one
// element with strides of 0.
void copy_by_kernel(const Extents &extents, std::size_t element_bytes, const Place &to, const Place &from,
                    const driver::Stream &stream);
// The word that fills the array by being repeated; nothing where the driver's own fill will not do.
std::optional<std::uint32_t> word_that_repeats(const Extents &extents, std::size_t element_bytes, const Place &to,
                                               const void *value);

}  // namespace samite
