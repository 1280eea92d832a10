// The order of the elements of each row of a tile in a block's shared memory, and sums of elements by their place, by
// all threads of the block. Sorting uses a bitonic network in which every comparison puts the smaller element first. So
// a row of any length can be sorted: beyond its end the network would only move elements that come last anyway (K.
// Batcher, Sorting networks and their applications, 1968).
#pragma once

#include "samite/device/cuda/atomic.h"
#include "samite/device/tile/block_loops.h"
#include "samite/device/tile/sort_steps.h"

namespace samite {

// The pairs that one step of the network compares: half of the smallest power of two that is at least n.
constexpr int half_of_network(int n) {
  int half = 1;
  while (2 * half < n) half *= 2;
  return half;
}

template <int rows, int n, bool descending, int threads, class T>
SAMITE_INLINE void tile_sort_order(i32 *out, const T *in) {
  constexpr int half = half_of_network(n);
  for_each_in_block<rows * n, threads>([&](int e) { out[e] = e % n; });
  __syncthreads();
  // `mirrored`: the first of the steps that merge two sorted stretches.
  const auto step = [&](int distance, bool mirrored) {
    for_each_in_block<rows * half, threads>([&](int e) {
      const int pair = e % half, first = pair / distance * (2 * distance), at = pair % distance;
      const int a = first + at, b = mirrored ? first + 2 * distance - 1 - at : a + distance;
      if (b >= n) return;
      i32 *order = out + e / half * n;
      const T *keys = in + e / half * n;
      const i32 x = order[a], y = order[b];
      if (sorts_before<descending>(Register<T>(keys[y]), y, Register<T>(keys[x]), x)) order[a] = y, order[b] = x;
    });
    __syncthreads();
  };
  for (int length = 1; length < n; length *= 2) {
    step(length, true);
    for (int distance = length / 2; distance > 0; distance /= 2) step(distance, false);
  }
}

// Adds element [r, i] of `in` to element [r, places[r, i]] of the result, which begins as zeros. Elements whose place
// is outside are left out. Several elements of one place are added in no particular order.
template <int rows, int n, int from, int threads, class T>
SAMITE_INLINE void tile_put_add(T *out, const T *in, const i32 *places) {
  for_each_in_block<rows * n, threads>([&](int e) { out[e] = T(Register<T>(0)); });
  __syncthreads();
  for_each_in_block<rows * from, threads>([&](int e) {
    const i32 place = places[e];
    if (place >= 0 && place < n) atomic_add_in_block(out + e / from * n + place, Register<T>(in[e]));
  });
}
// The same, in the order of the indices: each thread collects the elements of its own places.
template <int rows, int n, int from, int threads, class T>
SAMITE_INLINE void tile_put_add_in_order(T *out, const T *in, const i32 *places) {
  for_each_in_block<rows * n, threads>([&](int e) {
    const int row = e / n * from;
    Register<T> sum(0);
#pragma unroll 1
    for (int i = 0; i < from; ++i)
      if (places[row + i] == e % n) sum = sum + Register<T>(in[row + i]);
    out[e] = T(sum);
  });
}

}  // namespace samite
