// Fourier transforms of rows of complex numbers in a block's memory; the two parts of a number are adjacent. They take
// Stockham's steps of radix 4, 2, 3, 5 and 7 from one memory to another, and sums for other primes (Govindaraju et al.,
// High performance discrete Fourier transforms on graphics processors, 2008).
#pragma once

#include "samite/device/cpu/math.h"
#include "samite/device/tile/fourier_steps.h"

namespace samite {

// One step. `done` is the product of the radices of the steps before.
template <int n, int done, bool conjugate, class T>
SAMITE_INLINE void fourier_step(T *to, const T *from, const T *roots, T scale) {
  using C = ComplexNumber<T>;
  constexpr int radix = fourier_radix(n / done), count = n / radix, stride = n / (done * radix);
  const auto load = [](const T *p, int i) { return C{p[2 * i], p[2 * i + 1]}; };
  const auto store = [&](int i, C value) { to[2 * i] = scale * value.re, to[2 * i + 1] = scale * value.im; };
  for (int group = 0; group < count / done; ++group)
    for (int k = 0; k < done; ++k) {
      const int first = group * done + k, result = group * done * radix + k;
      if constexpr (radix <= largest_small_radix) {
        C x[radix];
#pragma unroll
        for (int r = 0; r < radix; ++r) {
          x[r] = load(from, first + r * count);
          if (done > 1 && r > 0) x[r] = x[r] * load(roots, r * k * stride);
        }
        transform_few<radix, conjugate>(x);
#pragma unroll
        for (int r = 0; r < radix; ++r) store(result + r * done, x[r]);
      } else {
        for (int q = 0; q < radix; ++q) {
          C sum = load(from, first);
          const int turn = (k + q * done) * stride;
          for (int r = 1, at = turn; r < radix; ++r, at = at + turn < n ? at + turn : at + turn - n)
            sum = sum + load(from, first + r * count) * load(roots, at);
          store(result + q * done, sum);
        }
      }
    }
}

template <int n, int done, bool conjugate, class T>
SAMITE_INLINE void fourier_steps_from(T *to, T *other, const T *from, const T *roots, T scale) {
  constexpr int next = done * fourier_radix(n / done);
  fourier_step<n, done, conjugate>(to, from, roots, next == n ? scale : T(1));
  if constexpr (next < n) fourier_steps_from<n, next, conjugate>(other, to, to, roots, scale);
}

template <int n, int batch, bool conjugate, bool scaled, class T>
static __attribute__((noinline)) void tile_fourier(T *out, const T *in, T *scratch) {
  const T scale = scaled ? T(1) / T(n) : T(1);
  if constexpr (n == 1) {
    for (int e = 0; e < 2 * batch; ++e) out[e] = in[e];
  } else {
    T roots[2 * n];
    for (int k = 0; k < n; ++k) {
      const ComplexNumber<T> root = root_of_unity<conjugate, T>(k, n);
      roots[2 * k] = root.re, roots[2 * k + 1] = root.im;
    }
    for (int m = 0; m < batch; ++m) {
      T *to = out + 2 * n * m;
      constexpr bool odd = fourier_steps(n) % 2;
      fourier_steps_from<n, 1, conjugate>(odd ? to : scratch, odd ? scratch : to, in + 2 * n * m, roots, scale);
    }
  }
}

}  // namespace samite
