// The Cholesky factor of matrices stored row by row in a block's memory, computed row by row (Golub, Van Loan, Matrix
// Computations, 4.2).
#pragma once

#include "samite/device/cpu/math.h"

namespace samite {

template <class T>
SAMITE_INLINE T tile_dot(const T *a, const T *b, int count) {
#pragma clang fp contract(fast)
  constexpr int lanes = SAMITE_VECTOR_BYTES / int(sizeof(T));
  typedef T Vector __attribute__((ext_vector_type(lanes)));
  typedef T Unaligned __attribute__((ext_vector_type(lanes), aligned(sizeof(T))));
  Vector sums = Vector(T(0));
  int i = 0;
  for (; i + lanes <= count; i += lanes)
    sums = sums + *reinterpret_cast<const Unaligned *>(a + i) * *reinterpret_cast<const Unaligned *>(b + i);
  T sum = T(0);
  for (int l = 0; l < lanes; ++l) sum = sum + sums[l];
  for (; i < count; ++i) sum = sum + a[i] * b[i];
  return sum;
}

template <int n, int, int batch, class T>
static __attribute__((noinline)) void tile_cholesky(T *out, const T *in) {
  for (int m = 0; m < batch; ++m) {
    T *l = out + m * (n * n);
    const T *a = in + m * (n * n);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < i; ++j) l[i * n + j] = (a[i * n + j] - tile_dot(l + i * n, l + j * n, j)) / l[j * n + j];
      const T square = a[i * n + i] - tile_dot(l + i * n, l + i * n, i);
      l[i * n + i] = square > T(0) ? sqrt(square) : T(nan_f32());
      for (int j = i + 1; j < n; ++j) l[i * n + j] = T(0);
    }
  }
}

}  // namespace samite
