// Sums over the threads of a block or a warp, if all of them add to one element: one atomic operation for all.
#pragma once

#include "samite/device/cuda/atomic.h"

namespace samite {

// Every thread of the block calls this, with zero if it has nothing to add. The steps of the sum are the same on every
// run; the order of the blocks' additions is not.
template <class T>
SAMITE_INLINE void add_sum_of_block(T *p, Register<T> value) {
  constexpr u32 all = ~0u;
  __shared__ Register<T> sums[32];
  const u32 thread = thread_of_block(), threads = threads_of_block();
  // The last warp of a block may have fewer threads: its missing lanes add nothing.
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

// Adds the sum of a warp's values to one element.
template <class T>
SAMITE_INLINE void add_of_warp(bool whole, T *p, T value) {
  if (!whole) return atomic_add(p, value);
  for (u32 distance = 16; distance > 0; distance /= 2) value = sum_of(value, shuffle_xor(value, distance));
  if (thread_of_block() % 32 == 0) atomic_add(p, value);
}

// Adds the sums of a warp's values to `count` elements in each of `rows` rows. Each step halves the number of sums that
// a thread works on, so that each sum takes about one shuffle.
template <class T, int rows, int count>
struct WarpRows {
  static constexpr int padded = rows <= 1 ? 1 : rows <= 2 ? 2 : rows <= 4 ? 4 : rows <= 8 ? 8 : 16;
  static constexpr int sums = padded * count;
  static_assert(sums <= 32, "a sum for each thread of a warp");
  T values[sums] = {};
  T *first[rows];

  SAMITE_INLINE_MEMBER void put(int row, int at, T *element, T value) {
    values[row * count + at] = value;
    if (at == 0) first[row] = element;
  }

  // All threads of the warp call this together. `steps`: by row, the elements from one sum to the next.
  SAMITE_INLINE_MEMBER void add(const i64 (&steps)[rows]) {
    const u32 lane = thread_of_block() % 32;
    fold<sums, 16>(lane);
    const u32 sum = lane / (32 / sums), row = sum / count;
    T *p = first[0];
    i64 step = steps[0];
#pragma unroll
    for (u32 r = 1; r < rows; ++r) {
      p = row == r ? first[r] : p;
      step = row == r ? steps[r] : step;
    }
    if (row < rows && lane % (32 / sums) == 0) atomic_add(p + i64(sum % count) * step, values[0]);
  }

 private:
  // Sums with the thread at this distance, then at half of it. Unrolled by templates, so that the sums stay in
  // registers.
  template <int left, u32 distance>
  SAMITE_INLINE_MEMBER void fold(u32 lane) {
    if constexpr (left == 1) {
      values[0] = sum_of(values[0], shuffle_xor(values[0], distance));
    } else {
      const bool upper = (lane & distance) != 0;
#pragma unroll
      for (int i = 0; i < left / 2; ++i) {
        const T kept = upper ? values[i + left / 2] : values[i], given = upper ? values[i] : values[i + left / 2];
        values[i] = sum_of(kept, shuffle_xor(given, distance));
      }
    }
    if constexpr (distance > 1) fold<(left > 1 ? left / 2 : 1), distance / 2>(lane);
  }
};

}  // namespace samite
