// What the multiprocessors of each GPU offer: one row for each compute capability. Passes are given the row. To add a
// GPU, add a row, and device headers of its own if it has instructions of its own.
#pragma once

#include "samite/ir/layout.h"

#include <cstdint>
#include <span>

namespace samite::passes {

// A multiplication of matrices by its factors' and its sums' types, and the unit that computes it. The fours of a row
// may be singles, where a tile is too small for all threads to have 4 by 4.
struct Multiplication {
  ScalarType factor, sum;
  ir::FragmentLayout::Unit unit;
  bool tf32 = false;  // factors are rounded to tf32, where the program allows that
  // Of groups of warps: factors lie with their terms one after another. Others may lie either way.
  bool terms_together = false;
};

struct Architecture {
  int capability;             // 90 for 9.0; 0: a CPU, which runs a block's threads as loops
  std::int64_t shared_bytes;  // that a block may have
  std::int64_t threads;       // of a multiprocessor at one time
  std::int64_t registers;     // of a multiprocessor, of 4 bytes
  std::span<const Multiplication> multiplications;
  // Of groups of four warps, in loops whose factors bulk copies bring to shared memory.
  std::span<const Multiplication> of_groups = {};
  bool clusters = false;  // blocks that run at one time, and to all of which the copy engine brings what one asks for
  bool fetches_rows = false;  // one instruction asks level 2 of the cache to bring as many bytes as it says

  bool blocks_have_threads() const { return capability != 0; }
};

const Architecture &cpu_architecture();

// The row of this capability, or the last one before it: what is newer can do no less (CUDA C++ Programming Guide,
// technical specifications per compute capability).
const Architecture &gpu_architecture(int capability);

}  // namespace samite::passes
