// Sums over the threads of a block, for what all of them add to one element: one atomic step for all.
#pragma once

#include "samite/device/cuda/atomic.h"

namespace samite {

// Every thread of the block calls this, with zero where it has nothing to add. The steps of the sum are the same on
// every run; the order of the blocks' additions is not.
template <class T>
SAMITE_INLINE void add_sum_of_block(T *p, Register<T> value) {
  constexpr u32 all = ~0u;
  __shared__ Register<T> sums[32];
  const u32 thread = thread_of_block(), threads = threads_of_block();
  // A block's last warp may be part of one: its missing lanes have nothing to say.
  const u32 lane = thread & 31, first = thread - lane, lanes = threads - first < 32 ? threads - first : 32;
  const u32 present = lanes == 32 ? all : (1u << lanes) - 1;
  for (u32 distance = 16; distance > 0; distance /= 2) {
    const Register<T> other = shuffle_down(present, value, distance);
    if (lane + distance < lanes) value = sum_of(value, other);
  }
  __syncthreads();  // the sums of an earlier call have been read
  if (lane == 0) sums[first / 32] = value;
  __syncthreads();
  if (thread == 0) {
    for (u32 warp = 1; warp * 32 < threads; ++warp) value = sum_of(value, sums[warp]);
    atomic_add(p, value);
  }
}

}  // namespace samite
