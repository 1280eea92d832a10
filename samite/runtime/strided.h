// Copies and fills through strides. Strides are in elements and may be negative or 0; `data` is the address of the
// element at index (0, …, 0). All threads of the task pool work on large arrays.
#pragma once

#include "samite/runtime/extents.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace samite {

using Strides = std::array<std::int64_t, maximum_rank>;  // zero beyond the rank

// The strides of a contiguous array, the last dimension innermost.
Strides row_major_strides(const Extents &extents);

// Whether elements follow each other in memory in row-major order. The stride of an extent of 1 does not matter.
bool is_row_major(const Extents &extents, const Strides &strides);

// The range of bytes that may be accessed, [first, second); empty if there are no elements.
std::pair<const std::byte *, const std::byte *> byte_range(const std::byte *data, const Extents &extents,
                                                           const Strides &strides, std::size_t element_bytes);

// Correct for overlapping arrays too, as if the whole source were read before the first write.
void copy_strided(const Extents &extents, std::size_t element_bytes, std::byte *to, const Strides &to_strides,
                  const std::byte *from, const Strides &from_strides);

void fill_strided(const Extents &extents, std::size_t element_bytes, std::byte *to, const Strides &to_strides,
                  const void *value);

}  // namespace samite
