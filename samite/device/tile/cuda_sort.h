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

// Keys are from 0 to 2^bits - 1. Each warp processes a part of the row, 32 neighbours at once: a key's place among the
// equal ones in its part is the warp's counter of this key plus the number of lower lanes with the same key. The
// counters of all warps, key by key, then give the first place of each part's keys. (The ranking of a block in D.
// Merrill and A. Grimshaw, High performance and scalable radix sorting, 2011.) `counts` has 2^bits counters for each
// warp, and 2^bits for all.
template <int rows, int n, int bits, int threads, class T>
SAMITE_INLINE void tile_counted_order(i32 *out, const T *in, i32 *counts) {
  constexpr int keys = 1 << bits, warps = threads / 32, chunks = (n + 32 * warps - 1) / (32 * warps);
  const int thread = int(flat_thread()), lane = thread % 32, warp = thread / 32;
  i32 *const own = counts + warp * keys, *const all = counts + warps * keys;
  for (int row = 0; row < rows; ++row) {
    for_each_in_block<warps * keys, threads>([&](int e) { counts[e] = 0; });
    __syncthreads();
    i32 places[chunks];
    u32 digits[chunks];
#pragma unroll
    for (int c = 0; c < chunks; ++c) {
      const int i = (warp * chunks + c) * 32 + lane;
      const bool here = i < n;
      const u32 key = here ? u32(in[row * n + i]) & u32(keys - 1) : 0;
      u32 equal = lanes_where(here);
#pragma unroll
      for (int bit = 0; bit < bits; ++bit) {
        const bool set = key >> bit & 1;
        const u32 others = lanes_where(set);
        equal &= set ? others : ~others;
      }
      const i32 before = own[key], lower = set_bits(equal & ((1u << lane) - 1u));
      sync_warp();
      if (here && lower == 0) own[key] = before + set_bits(equal);
      sync_warp();
      places[c] = before + lower, digits[c] = key;
    }
    __syncthreads();
    // The first place of each warp's keys among the equal ones, and the number of these.
    for_each_in_block<keys, threads>([&](int key) {
      i32 sum = 0;
      for (int w = 0; w < warps; ++w) {
        const i32 count = counts[w * keys + key];
        counts[w * keys + key] = sum;
        sum += count;
      }
      all[key] = sum;
    });
    __syncthreads();
    if (warp == 0) {
      constexpr int each = (keys + 31) / 32;
      i32 sum = 0;
      for (int k = 0; k < each; ++k) sum += lane * each + k < keys ? all[lane * each + k] : 0;
      i32 before = sum;
#pragma unroll
      for (int distance = 1; distance < 32; distance *= 2) {
        const i32 other = shuffle(before, u32(lane < distance ? lane : lane - distance));
        if (lane >= distance) before += other;
      }
      before -= sum;
      for (int k = 0; k < each; ++k) {
        if (lane * each + k >= keys) break;
        const i32 count = all[lane * each + k];
        all[lane * each + k] = before;
        before += count;
      }
    }
    __syncthreads();
#pragma unroll
    for (int c = 0; c < chunks; ++c) {
      const int i = (warp * chunks + c) * 32 + lane;
      if (i < n) out[row * n + all[digits[c]] + own[digits[c]] + places[c]] = i;
    }
    if (row + 1 < rows) __syncthreads();
  }
}

// Adds element [r, i] of `in` to element [r, places[r, i]] of the result, which begins as zeros. Elements with a place
// outside are skipped. Several elements of one place are added in no particular order.
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
