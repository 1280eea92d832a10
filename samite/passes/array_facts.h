// What the compiler may assume about an array argument. Each fact holds for every launch of the compiled variant.
#pragma once

#include "samite/passes/block_hazards.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace samite::passes {

struct ArrayFacts {
  bool unit_stride = false;  // neighbours in the last dimension are neighbours in memory: vectors load and store whole
  bool wide_index = false;   // elements may lie 2^31 or more apart: offsets within it need 64 bits
  // Each thread that runs boxes has a copy of its own, and the kernel only adds to it: atomic additions may be plain.
  bool worker_private = false;
  // Shares no memory with another array that the kernel writes, so that what it only reads may be cached.
  bool unaliased = false;
  // CUDA: each row begins at a multiple of 16 bytes: the data does, and all strides but the last are such multiples.
  bool aligned_rows = false;
  // CUDA: a row has a multiple of so many elements, of 16 bytes or of one.
  std::int64_t row_divisor = 1;
  // CUDA: a tensor map of it can be made, as bulk copies need: beside aligned rows, it has elements, its strides are
  // not negative, and extents and strides are within what a map holds.
  bool has_tensor_map = false;
  // CUDA: parameters that are copies of it, of which a tensor map can be made (passes/factor_copies.h).
  std::optional<std::uint32_t> padded_copy{}, swapped_copy{};

  // Debug mode: a parameter that has the same extents, so that an index that is inside of one is inside of the other.
  std::optional<std::uint32_t> extents_of{};

  // CUDA: each row begins with a unit of 16 bytes, and elements lie one after another: one instruction moves a unit.
  bool rows_in_units() const { return unit_stride && aligned_rows; }

  friend bool operator==(const ArrayFacts &, const ArrayFacts &) = default;
};

// One for each parameter; missing ones are the defaults.
using FactsOfArrays = std::vector<ArrayFacts>;

ArrayFacts facts_of(const FactsOfArrays &arrays, std::uint32_t array);

// For the passes that ask whether two arrays share memory. `arrays` must live on.
SharesMemory shares_memory(const FactsOfArrays &arrays);

}  // namespace samite::passes
