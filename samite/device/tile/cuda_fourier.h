// Fourier transforms of rows of complex numbers in a block's shared memory, by all threads of the block; the two parts
// of a number are adjacent. They take Stockham's steps of radix 4, 2, 3, 5 and 7 from one memory to another, and sums
// for other primes (Govindaraju et al., High performance discrete Fourier transforms on graphics processors, 2008).
#pragma once

#include "samite/device/cuda/math.h"
#include "samite/device/tile/block_loops.h"
#include "samite/device/tile/fourier_steps.h"

namespace samite {

// One step. `done` is the product of the radices of the steps before.
template <int n, int batch, int done, bool conjugate, int threads, class T>
SAMITE_INLINE void fourier_step(T *to, const T *from, T scale) {
  using C = ComplexNumber<T>;
  constexpr int radix = fourier_radix(n / done), count = n / radix;
  constexpr bool small = radix <= largest_small_radix;
  const auto load = [&](int i) { return C{from[2 * i], from[2 * i + 1]}; };
  const auto store = [&](int i, C value) { to[2 * i] = scale * value.re, to[2 * i + 1] = scale * value.im; };
  for_each_in_block<batch *(small ? count : n), threads>([&](int e) {
    const int row = e / (small ? count : n) * n, first = e % count, k = first % done;
    const int result = first / done * (done * radix) + k;
    if constexpr (small) {
      C x[radix];
      const C turn = root_of_unity<conjugate, T>(k, done * radix);
      C power = turn;
#pragma unroll
      for (int r = 0; r < radix; ++r) {
        x[r] = load(row + first + r * count);
        if (done > 1 && r > 0) x[r] = x[r] * power, power = power * turn;
      }
      transform_few<radix, conjugate>(x);
#pragma unroll
      for (int r = 0; r < radix; ++r) store(row + result + r * done, x[r]);
    } else {
      const int q = e % n / count, turn = k + q * done;
      C sum = load(row + first);
      for (int r = 1, at = turn; r < radix; ++r) {
        sum = sum + load(row + first + r * count) * root_of_unity<conjugate, T>(at, done * radix);
        at = at + turn < done * radix ? at + turn : at + turn - done * radix;
      }
      store(row + result + q * done, sum);
    }
  });
}

template <int n, int batch, int done, bool conjugate, int threads, class T>
SAMITE_INLINE void fourier_steps_from(T *to, T *other, const T *from, T scale) {
  constexpr int next = done * fourier_radix(n / done);
  fourier_step<n, batch, done, conjugate, threads>(to, from, next == n ? scale : T(1));
  if constexpr (next < n) {
    __syncthreads();
    fourier_steps_from<n, batch, next, conjugate, threads>(other, to, to, scale);
  }
}

template <int n, int batch, bool conjugate, bool scaled, int threads, class T>
SAMITE_INLINE void tile_fourier(T *out, const T *in, T *scratch) {
  if constexpr (n == 1) {
    for_each_in_block<2 * batch, threads>([&](int e) { out[e] = in[e]; });
  } else {
    constexpr bool odd = fourier_steps(n) % 2;
    fourier_steps_from<n, batch, 1, conjugate, threads>(odd ? out : scratch, odd ? scratch : out, in,
                                                        scaled ? T(1) / T(n) : T(1));
  }
}

}  // namespace samite
