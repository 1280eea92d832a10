// The Cholesky factor of matrices stored row by row in a block's shared memory, by all threads of the block. It is
// computed column by column; each column is then subtracted from all columns to its right (Golub, Van Loan, Matrix
// Computations, 4.2).
#pragma once

#include "samite/device/cuda/math.h"
#include "samite/device/tile/block_loops.h"

namespace samite {

template <int n, int, int batch, int threads, class T>
SAMITE_INLINE void tile_cholesky(T *out, const T *in) {
  for_each_in_block<batch * n * n, threads>([&](int e) { out[e] = in[e]; });
  __syncthreads();
  for (int j = 0; j < n; ++j) {
    // The root is written after every thread has read the diagonal element. The column is also stored as a row of the
    // upper half, where neighbouring threads read it without bank conflicts.
    const int rest = n - 1 - j;
    for_each_in_block<threads>(batch * rest, [&](int e) {
      T *l = out + e / rest * (n * n);
      const int i = j + 1 + e % rest;
      const T square = l[j * n + j];
      l[i * n + j] = l[j * n + i] = l[i * n + j] / (square > T(0) ? sqrt(square) : T(nan_f32()));
    });
    __syncthreads();
    for_each_in_block<batch, threads>([&](int e) {
      T &square = out[e * (n * n) + j * n + j];
      square = square > T(0) ? sqrt(square) : T(nan_f32());
    });
    for_each_in_block<threads>(batch * rest * rest, [&](int e) {
      T *l = out + e / (rest * rest) * (n * n);
      const int i = j + 1 + e / rest % rest, k = j + 1 + e % rest;
      if (k <= i) l[i * n + k] = l[i * n + k] - l[i * n + j] * l[j * n + k];
    });
    __syncthreads();
  }
  for_each_in_block<batch * n * n, threads>([&](int e) {
    if (e % n > e / n % n) out[e] = T(0);
  });
}

}  // namespace samite
