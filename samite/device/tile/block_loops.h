// Loops that the threads of a block share.
#pragma once

#include "samite/device/cuda/scalar.h"

namespace samite {

// Calls `body` with each number below `count`. The number of turns is a constant: NVVM unrolls loops from thread to
// thread with a remainder loop, which has read from the wrong one of three tiles (codegen/element_loops.cpp).
template <int count, int threads, class Body>
SAMITE_INLINE void for_each_in_block(Body body) {
  for (int turn = 0; turn < (count + threads - 1) / threads; ++turn) {
    const int e = int(flat_thread()) + turn * threads;
    if (count % threads == 0 || e < count) body(e);
  }
}
// The same for a count known at run time, not unrolled for the same reason.
template <int threads, class Body>
SAMITE_INLINE void for_each_in_block(int count, Body body) {
#pragma unroll 1
  for (int first = 0; first < count; first += threads)
    if (const int e = int(flat_thread()) + first; e < count) body(e);
}

}  // namespace samite
