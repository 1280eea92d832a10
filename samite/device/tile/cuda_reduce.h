// Reductions of a tile in a block's shared memory, by all threads of the block. A thread computes each element of the
// result; if the result has fewer elements than there are threads, a warp does. The steps are the same on every run.
#pragma once

#include "samite/device/cuda/reduce.h"
#include "samite/device/tile/block_loops.h"
#include "samite/device/tile/steps.h"

namespace samite {

// Passes a value that one thread computes to all threads of the block.
template <class T, class Compute>
SAMITE_INLINE T of_one_thread(Compute compute) {
  __shared__ T value;
  __syncthreads();  // an earlier value has been read
  if (flat_thread() == 0) value = compute();
  __syncthreads();
  return value;
}

// Maps the elements of the tile to those of the result. There are four extents; bit d of `along` says that dimension d
// is reduced.
template <int e0, int e1, int e2, int e3, int along>
struct TileReduction {
  static constexpr bool r0 = along & 1, r1 = along & 2, r2 = along & 4, r3 = along & 8;
  static constexpr int count = (r0 ? 1 : e0) * (r1 ? 1 : e1) * (r2 ? 1 : e2) * (r3 ? 1 : e3);
  static constexpr int length = e0 * e1 * e2 * e3 / count;

  // Element `r` of those that are reduced to element `o`.
  static SAMITE_INLINE_MEMBER int place(int o, int r) {
    int place = 0, stride = 1;
    auto dimension = [&](int extent, bool reduced) {
      int &rest = reduced ? r : o;
      place += rest % extent * stride;
      rest /= extent;
      stride *= extent;
    };
    dimension(e3, r3), dimension(e2, r2), dimension(e1, r1), dimension(e0, r0);
    return place;
  }
};

template <class Step, int e0, int e1, int e2, int e3, int along, int threads, class R, class T>
SAMITE_INLINE void tile_reduce(R *out, const T *in) {
  using Reduction = TileReduction<e0, e1, e2, e3, along>;
  using V = Register<T>;
  if constexpr (Reduction::count >= threads) {
    for_each_in_block<Reduction::count, threads>([&](int o) {
      V sum = Step::template first<V>();
      for (int r = 0; r < Reduction::length; ++r) sum = Step::apply(sum, V(in[Reduction::place(o, r)]));
      out[o] = R(sum);
    });
  } else {
    constexpr int warps = threads / 32;
    constexpr bool for_each_warp = Reduction::count % warps == 0, for_each_lane = Reduction::length % 32 == 0;
    const int thread = int(flat_thread()), lane = thread % 32, warp = thread / 32;
#pragma unroll 4
    for (int first = 0; first < Reduction::count; first += warps) {
      const int o = first + warp;
      const bool here = for_each_warp || o < Reduction::count;
      V sum = Step::template first<V>();
      if (here)
#pragma unroll 4
        for (int turn = 0; turn < (Reduction::length + 31) / 32; ++turn)
          if (const int r = lane + turn * 32; for_each_lane || r < Reduction::length)
            sum = Step::apply(sum, V(in[Reduction::place(o, r)]));
      for (u32 distance = 16; distance > 0; distance /= 2) sum = Step::apply(sum, V(shuffle_xor(sum, distance)));
      if (here && lane == 0) out[o] = R(sum);
    }
  }
}

// If there are more warps than sums, several warps compute parts of each sum.
template <class Step, int e0, int e1, int e2, int e3, int along, int threads, class R, class T, class Part>
SAMITE_INLINE void tile_reduce(R *out, const T *in, Part *scratch) {
  using Reduction = TileReduction<e0, e1, e2, e3, along>;
  using V = Register<T>;
  constexpr int parts = threads / 32 / Reduction::count;
  if constexpr (parts <= 1) {
    tile_reduce<Step, e0, e1, e2, e3, along, threads>(out, in);
  } else {
    const int thread = int(flat_thread()), warp = thread / 32, o = warp / parts, part = warp % parts;
    if (o < Reduction::count) {
      V sum = Step::template first<V>();
#pragma unroll 4
      for (int r = part * 32 + thread % 32; r < Reduction::length; r += parts * 32)
        sum = Step::apply(sum, V(in[Reduction::place(o, r)]));
      for (u32 distance = 16; distance > 0; distance /= 2) sum = Step::apply(sum, V(shuffle_xor(sum, distance)));
      if (thread % 32 == 0) scratch[o * parts + part] = Part(sum);
    }
    __syncthreads();
    if (thread >= Reduction::count) return;
    V sum = V(scratch[thread * parts]);
    for (int p = 1; p < parts; ++p) sum = Step::apply(sum, V(scratch[thread * parts + p]));
    out[thread] = R(sum);
  }
}

template <class Order, int e0, int e1, int e2, int e3, int along, int threads, class T>
SAMITE_INLINE void tile_position(i32 *out, const T *in) {
  using Reduction = TileReduction<e0, e1, e2, e3, along>;
  using V = Register<T>;
  constexpr int warps = threads / 32;
  const int thread = int(flat_thread()), lane = thread % 32, warp = thread / 32;
  for (int first = 0; first < Reduction::count; first += warps) {
    const int o = first + warp;
    const bool here = o < Reduction::count && lane < Reduction::length;
    i32 best = here ? lane : Reduction::length;
    V least = here ? V(in[Reduction::place(o, lane)]) : V(0);
    for (int r = lane + 32; here && r < Reduction::length; r += 32) {
      const V x = V(in[Reduction::place(o, r)]);
      if (Order::before(x, least)) best = r, least = x;
    }
    for (u32 distance = 16; distance > 0; distance /= 2) {
      const i32 other_place = shuffle_xor(best, distance);
      const V other = shuffle_xor(least, distance);
      const bool none = best == Reduction::length, better = Order::before(other, least);
      const bool equal = !better && !Order::before(least, other);
      if (other_place != Reduction::length && (none || better || (equal && other_place < best)))
        best = other_place, least = other;
    }
    if (o < Reduction::count && lane == 0) out[o] = best;
  }
}

}  // namespace samite
