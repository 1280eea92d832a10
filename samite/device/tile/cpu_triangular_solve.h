// A X = B and Aᵀ X = B for triangular matrices A stored row by row in a block's memory: computes X row by row, by
// substitution (Golub, Van Loan, Matrix Computations, 3.1).
#pragma once

#include "samite/device/tile/cpu_cholesky.h"

namespace samite {

template <int n, int columns, int batch, bool upper, bool transposed, class T>
static __attribute__((noinline)) void tile_triangular_solve(T *out, const T *left, const T *right) {
#pragma clang fp contract(fast)
  constexpr bool forwards = upper == transposed;
  for (int m = 0; m < batch; ++m) {
    const T *a = left + m * (n * n), *b = right + m * (n * columns);
    T *x = out + m * (n * columns);
    for (int step = 0; step < n; ++step) {
      const int i = forwards ? step : n - 1 - step, known = forwards ? 0 : i + 1;
      T *row = x + i * columns;
      const T pivot = a[i * n + i];
      if constexpr (columns == 1 && !transposed) {
        row[0] = (b[i] - tile_dot(a + i * n + known, x + known, step)) / pivot;
      } else {
        for (int c = 0; c < columns; ++c) row[c] = b[i * columns + c];
        for (int j = known; j < known + step; ++j) {
          const T factor = transposed ? a[j * n + i] : a[i * n + j];
          const T *other = x + j * columns;
          for (int c = 0; c < columns; ++c) row[c] = row[c] - factor * other[c];
        }
        for (int c = 0; c < columns; ++c) row[c] = row[c] / pivot;
      }
    }
  }
}

}  // namespace samite
