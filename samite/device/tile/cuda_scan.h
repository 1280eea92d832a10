// Scans along one dimension of a tile in a block's shared memory, by all threads of the block. If neighbours in memory
// are in different lines, each thread scans a line. Otherwise a warp scans a line, or several warps do if there are few
// lines.
#pragma once

#include "samite/device/cuda/half.h"
#include "samite/device/tile/block_loops.h"
#include "samite/device/tile/scan_steps.h"

namespace samite {

template <class V>
SAMITE_INLINE V shuffle_state(V state, u32 lane) {
  return shuffle(state, lane);
}
template <class V>
SAMITE_INLINE LinearState<V> shuffle_state(LinearState<V> state, u32 lane) {
  return {shuffle(state.factor, lane), shuffle(state.value, lane)};
}

// A long line, by all warps together: a thread has four neighbours in registers, so that few values are exchanged
// between threads. Each warp scans its part, and then adds the totals of the parts before.
constexpr int scan_neighbours = 4;
constexpr int scan_chunks(int extent, int threads) {
  return (extent + scan_neighbours * threads - 1) / (scan_neighbours * threads);
}

template <class S, int extent, bool exclusive, int threads, class Read, class Write>
SAMITE_INLINE void scan_long_line(Read read, Write write) {
  using State = typename S::State;
  constexpr int n = scan_neighbours, chunks = scan_chunks(extent, threads);
  __shared__ State ends[32];
  const int thread = int(flat_thread()), lane = thread % 32, warp = thread / 32;
  State states[chunks][n], first[chunks];  // `first`: the state before the first of the neighbours, in the warp's part
  State carry;
#pragma unroll
  for (int c = 0; c < chunks; ++c) {
    const int begin = (warp * chunks + c) * 32 * n + lane * n;
    State(&own)[n] = states[c];
#pragma unroll
    for (int k = 0; k < n; ++k) {
      const State next = read(begin + k < extent ? begin + k : extent - 1);
      own[k] = k == 0 ? next : S::together(own[k - 1], next);
    }
    State total = own[n - 1];
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const State before = shuffle_state(total, u32(lane < distance ? lane : lane - distance));
      if (lane >= distance) total = S::together(before, total);
    }
    State left = shuffle_state(total, u32(lane < 1 ? 0 : lane - 1));
    if (c > 0) left = lane < 1 ? carry : S::together(carry, left);
    if (c > 0 || lane > 0)
#pragma unroll
      for (int k = 0; k < n; ++k) own[k] = S::together(left, own[k]);
    first[c] = left;
    carry = shuffle_state(own[n - 1], 31);
  }
  if (lane == 31) ends[warp] = carry;
  __syncthreads();
  State before = ends[0];
  for (int w = 1; w < warp; ++w) before = S::together(before, ends[w]);
#pragma unroll
  for (int c = 0; c < chunks; ++c) {
    const int begin = (warp * chunks + c) * 32 * n + lane * n;
#pragma unroll
    for (int k = 0; k < n; ++k) {
      const bool opens_part = exclusive && k == 0 && c == 0 && lane == 0;
      const State own = !exclusive ? states[c][k] : k == 0 ? first[c] : states[c][k - 1];
      const State all = opens_part ? before : warp > 0 ? S::together(before, own) : own;
      if (begin + k < extent) write(begin + k, opens_part && warp == 0 ? S::first() : S::value(all));
    }
  }
}

template <template <class> class Step, int outer, int extent, int inner, bool backwards, bool exclusive, int threads,
          class T, class... In>
SAMITE_INLINE void tile_scan(T *out, const In *...in) {
  using V = Register<T>;
  using S = Step<V>;
  using State = typename S::State;
  constexpr int lines = outer * inner;
  const auto place = [](int line, int i) {
    return (line / inner * extent + (backwards ? extent - 1 - i : i)) * inner + line % inner;
  };
  if constexpr (inner == 1 && extent >= scan_neighbours * threads && scan_chunks(extent, threads) <= 8) {
    for (int line = 0; line < lines; ++line) {
      if (line > 0) __syncthreads();
      scan_long_line<S, extent, exclusive, threads>([&](int i) { return S::of(V(in[place(line, i)])...); },
                                                    [&](int i, V value) { out[place(line, i)] = T(value); });
    }
  } else if constexpr (inner > 1 && 4 * lines >= threads) {
    for_each_in_block<lines, threads>([&](int line) {
      State state = S::of(V(in[place(line, 0)])...);
      out[place(line, 0)] = T(exclusive ? S::first() : S::value(state));
      for (int i = 1; i < extent; ++i) {
        const int at = place(line, i);
        const State before = state;
        state = S::together(before, S::of(V(in[at])...));
        out[at] = T(S::value(exclusive ? before : state));
      }
    });
  } else {
    // Each warp scans a part of the line: first the total of each part, then the elements. The last thread of a chunk
    // has the chunk's total.
    __shared__ State ends[32];
    const int thread = int(flat_thread()), lane = thread % 32, warp = thread / 32;
    constexpr int warps = threads / 32, wanted = lines < warps ? warps / lines : 1, chunks = (extent + 31) / 32;
    constexpr int length = (chunks + wanted - 1) / wanted * 32, parts = (extent + length - 1) / length;
    for (int first = 0; first < lines * parts; first += warps) {
      const int part = (first + warp) % parts, line = (first + warp) / parts, begin = part * length;
      const auto go = [&](State carry, bool carries, bool write) {
        for (int c = 0; c < length; c += 32) {
          const int i = begin + c + lane;
          const bool here = line < lines && i < extent;
          const int at = here ? place(line, i) : 0;
          State state = S::of(V(in[at])...);
#pragma unroll
          for (int distance = 1; distance < 32; distance *= 2) {
            const State before = shuffle_state(state, u32(lane < distance ? lane : lane - distance));
            if (lane >= distance) state = S::together(before, state);
          }
          if (carries) state = S::together(carry, state);
          if (write) {
            State before = state;
            if constexpr (exclusive) before = shuffle_state(state, u32(lane < 1 ? 0 : lane - 1));
            const V of_first = carries ? S::value(carry) : S::first();
            if (here) out[at] = T(!exclusive ? S::value(state) : lane == 0 ? of_first : S::value(before));
          }
          carry = shuffle_state(state, 31);
          carries = true;
        }
        return carry;
      };
      State carry = S::of(V(in[0])...);
      if (parts > 1) {
        const State end = go(carry, false, false);
        if (lane == 31) ends[warp] = end;
        __syncthreads();
        for (int p = 0; p < part; ++p) carry = p == 0 ? ends[warp - part] : S::together(carry, ends[warp - part + p]);
      }
      go(carry, part > 0, true);
    }
  }
}

}  // namespace samite
