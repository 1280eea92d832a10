// Facts about an array argument that hold for every launch of the compiled variant.
#pragma once

#include "samite/passes/analysis/block_hazards.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace samite::passes {

struct ArrayFacts {
  bool unit_stride = false;  // the last dimension is contiguous: vectors load and store whole
  bool wide_index = false;   // elements may be 2^31 or more apart: offsets within it need 64 bits
  // Each thread that runs boxes has its own copy, and the kernel only adds to it: atomic additions may be plain.
  bool worker_private = false;
  // Shares no memory with another array that the kernel writes, so that read-only data may be cached.
  bool unaliased = false;
  // CUDA: each row begins at a multiple of 16 bytes, because the data and all strides but the last do.
  bool aligned_rows = false;
  // CUDA: a row has a multiple of this many elements: those of 16 bytes, or one.
  std::int64_t row_divisor = 1;
  // CUDA: it can have a tensor map, as bulk copies need: besides aligned rows, it has elements, its strides are not
  // negative, and extents and strides are within a map's limits.
  bool has_tensor_map = false;
  // CUDA: parameters that are copies of it, which can have a tensor map (passes/tiles/factor_copies.h).
  std::optional<std::uint32_t> padded_copy{}, swapped_copy{};

  // Debug mode: a parameter with the same extents, so that an index inside one is inside the other.
  std::optional<std::uint32_t> extents_of{};

  // CUDA: each row begins with a unit of 16 bytes, and elements are contiguous: one instruction moves a unit.
  bool rows_in_units() const { return unit_stride && aligned_rows; }

  friend bool operator==(const ArrayFacts &, const ArrayFacts &) = default;
};

// One for each parameter; missing ones are the defaults.
using FactsOfArrays = std::vector<ArrayFacts>;

ArrayFacts facts_of(const FactsOfArrays &arrays, std::uint32_t array);

// For passes that ask whether two arrays share memory. `arrays` must outlive the result.
SharesMemory shares_memory(const FactsOfArrays &arrays);

}  // namespace samite::passes
