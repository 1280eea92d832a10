// The capabilities of each GPU's multiprocessors: one row for each compute capability, which passes receive. To add a
// GPU, add a row, and device headers if it has new instructions.
#pragma once

#include "samite/ir/layout.h"

#include <cstdint>
#include <span>

namespace samite::passes {

// A matrix multiplication by the types of its factors and sums, and the unit that computes it. A row with fours may use
// singles, if a tile is too small for all threads to have 4 by 4.
struct Multiplication {
  ScalarType factor, sum;
  ir::FragmentLayout::Unit unit;
  bool tf32 = false;  // factors are rounded to tf32, if the program allows it
  // For warp groups: the terms of a sum must be contiguous in the factors. Otherwise any layout works.
  bool terms_together = false;
};

struct Architecture {
  int capability;             // 90 for 9.0; 0: a CPU, which runs a block's threads as loops
  std::int64_t shared_bytes;  // the limit of a block
  std::int64_t threads;       // of a multiprocessor, concurrently
  std::int64_t registers;     // 4-byte registers of a multiprocessor
  std::span<const Multiplication> multiplications;
  // For warp groups of four warps, in main loops with bulk copies to shared memory.
  std::span<const Multiplication> of_groups = {};
  bool clusters = false;      // clusters of concurrent blocks, with multicast by the copy engine
  bool fetches_rows = false;  // one instruction prefetches a given number of bytes into the level-2 cache

  bool blocks_have_threads() const { return capability != 0; }
  bool has_warp_groups() const { return !of_groups.empty(); }
  // The blocks with this many bytes of shared memory that fit a multiprocessor, which keeps 1 KiB for each.
  std::int64_t blocks_with_room(std::int64_t bytes) const {
    constexpr std::int64_t of_driver = 1024;
    return (shared_bytes + of_driver) / (bytes + of_driver);
  }
  // How warp groups multiply factors of this type, of 32 bits as tf32. Null if they do not.
  const Multiplication *multiplication_of_groups(ScalarType factor) const;
};

const Architecture &cpu_architecture();

// The row of this capability, or the last one before it: newer GPUs support at least as much (CUDA C++ Programming
// Guide, technical specifications per compute capability).
const Architecture &gpu_architecture(int capability);

}  // namespace samite::passes
