// The order of the elements of each row of a tile in a block's memory, and sums of elements by their place: by merging
// sorted runs (Knuth, The Art of Computer Programming 3, 5.2.4).
#pragma once

#include "samite/device/cpu/half.h"
#include "samite/device/tile/sort_steps.h"

namespace samite {

template <int rows, int n, bool descending, class T>
static __attribute__((noinline)) void tile_sort_order(i32 *out, const T *in) {
  constexpr int run = 8;
  i32 other[n];
  for (int r = 0; r < rows; ++r) {
    const T *keys = in + r * n;
    i32 *order = out + r * n;
    const auto before = [&](i32 a, i32 b) {
      return sorts_before<descending>(Register<T>(keys[a]), a, Register<T>(keys[b]), b);
    };
    for (int begin = 0; begin < n; begin += run)
      for (int i = begin; i < n && i < begin + run; ++i) {
        int at = i;
        for (; at > begin && before(i, order[at - 1]); --at) order[at] = order[at - 1];
        order[at] = i;
      }
    i32 *from = order, *to = other;
    for (int length = run; length < n; length *= 2) {
      for (int begin = 0; begin < n; begin += 2 * length) {
        const int middle = begin + length < n ? begin + length : n, end = middle + length < n ? middle + length : n;
        int a = begin, b = middle;
        for (int i = begin; i < end; ++i)
          to[i] = b == end || (a < middle && before(from[a], from[b])) ? from[a++] : from[b++];
      }
      i32 *const sorted = to;
      to = from, from = sorted;
    }
    if (from != order)
      for (int i = 0; i < n; ++i) order[i] = from[i];
  }
}

// Keys are from 0 to 2^bits - 1: each is placed after all smaller keys, and after equal keys that precede it.
template <int rows, int n, int bits, class T>
static __attribute__((noinline)) void tile_counted_order(i32 *out, const T *in) {
  constexpr u32 last = (1u << bits) - 1;
  for (int r = 0; r < rows; ++r) {
    const T *keys = in + r * n;
    i32 next[last + 1] = {};
    for (int i = 0; i < n; ++i) ++next[u32(keys[i]) & last];
    i32 before = 0;
    for (u32 key = 0; key <= last; ++key) {
      const i32 equal = next[key];
      next[key] = before;
      before += equal;
    }
    for (int i = 0; i < n; ++i) out[r * n + next[u32(keys[i]) & last]++] = i;
  }
}

// Adds element [r, i] of `in` to element [r, places[r, i]] of the result, which begins as zeros. Elements with a place
// outside are skipped.
template <int rows, int n, int from, class T>
static __attribute__((noinline)) void tile_put_add(T *out, const T *in, const i32 *places) {
  for (int r = 0; r < rows; ++r) {
    Register<T> sums[n];
    for (int i = 0; i < n; ++i) sums[i] = Register<T>(0);
    for (int i = 0; i < from; ++i) {
      const i32 place = places[r * from + i];
      if (place >= 0 && place < n) sums[place] = sums[place] + Register<T>(in[r * from + i]);
    }
    for (int i = 0; i < n; ++i) out[r * n + i] = T(sums[i]);
  }
}

}  // namespace samite
