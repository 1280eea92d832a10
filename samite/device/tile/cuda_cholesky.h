// The Cholesky factor of matrices that lie row by row in a block's shared memory, by all threads of the block. It is
// computed column by column; each column is then subtracted from all columns to its right (Golub, Van Loan, Matrix
// Computations, 4.2).
#pragma once

#include "samite/device/cuda/math.h"

namespace samite {

template <int n, int, int batch, class T>
SAMITE_INLINE void tile_cholesky(T *out, const T *in) {
  const int thread = int(flat_thread()), threads = int(threads_of_block());
  for (int e = thread; e < batch * n * n; e += threads) out[e] = in[e];
  __syncthreads();
  for (int j = 0; j < n; ++j) {
    // The root is written after every thread has read the diagonal element. The column is also stored as a row of the
    // upper half, where neighbouring threads read it without bank conflicts.
    const int rest = n - 1 - j;
    for (int e = thread; e < batch * rest; e += threads) {
      T *l = out + e / rest * (n * n);
      const int i = j + 1 + e % rest;
      const T square = l[j * n + j];
      l[i * n + j] = l[j * n + i] = l[i * n + j] / (square > T(0) ? sqrt(square) : T(nan_f32()));
    }
    __syncthreads();
    for (int e = thread; e < batch; e += threads) {
      T &square = out[e * (n * n) + j * n + j];
      square = square > T(0) ? sqrt(square) : T(nan_f32());
    }
    for (int e = thread; e < batch * rest * rest; e += threads) {
      T *l = out + e / (rest * rest) * (n * n);
      const int i = j + 1 + e / rest % rest, k = j + 1 + e % rest;
      if (k <= i) l[i * n + k] = l[i * n + k] - l[i * n + j] * l[j * n + k];
    }
    __syncthreads();
  }
  for (int e = thread; e < batch * n * n; e += threads)
    if (e % n > e / n % n) out[e] = T(0);
}

}  // namespace samite
