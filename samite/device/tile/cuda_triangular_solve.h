// A X = B and Aᵀ X = B for triangular matrices A stored row by row in a block's shared memory, by all threads of the
// block. If all matrices together have at least as many columns as there are threads, each thread solves for
// columns of its own. Otherwise all threads together subtract each row of X, once it is known, from the rows that need
// it (Golub, Van Loan, Matrix Computations, 3.1).
#pragma once

#include "samite/device/cuda/math.h"
#include "samite/device/tile/block_loops.h"

namespace samite {

template <int n, int columns, int batch, bool upper, bool transposed, int threads, class T>
SAMITE_INLINE void tile_triangular_solve(T *x, const T *left, const T *right) {
  constexpr bool forwards = upper == transposed;
  const auto element = [](const T *a, int i, int j) { return transposed ? a[j * n + i] : a[i * n + j]; };
  if constexpr (columns * batch >= threads) {
    for_each_in_block<columns * batch, threads>([&](int e) {
      const T *a = left + e / columns * (n * n);
      const int first = e / columns * (n * columns) + e % columns;
      for (int step = 0; step < n; ++step) {
        const int i = forwards ? step : n - 1 - step, known = forwards ? 0 : i + 1;
        T value = right[first + i * columns];
        for (int j = known; j < known + step; ++j) value = value - element(a, i, j) * x[first + j * columns];
        x[first + i * columns] = value / a[i * n + i];
      }
    });
  } else {
    for_each_in_block<batch * n * columns, threads>([&](int e) { x[e] = right[e]; });
    __syncthreads();
    for (int step = 0; step < n; ++step) {
      const int i = forwards ? step : n - 1 - step, rest = n - 1 - step, next = forwards ? i + 1 : 0;
      for_each_in_block<batch * columns, threads>([&](int e) {
        T &value = x[(e / columns * n + i) * columns + e % columns];
        value = value / left[e / columns * (n * n) + i * n + i];
      });
      __syncthreads();
      for_each_in_block<threads>(batch * rest * columns, [&](int e) {
        const int m = e / (rest * columns), j = next + e / columns % rest, c = e % columns;
        T &value = x[(m * n + j) * columns + c];
        value = value - element(left + m * (n * n), j, i) * x[(m * n + i) * columns + c];
      });
      __syncthreads();
    }
  }
}

}  // namespace samite
