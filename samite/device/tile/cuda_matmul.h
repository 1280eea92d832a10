// Products of matrices stored row by row in a block's shared memory, C += A B, by all threads of the block: each has
// pieces of 4 x 4 elements of C.
#pragma once

#include "samite/device/cuda/half.h"
#include "samite/device/tile/block_loops.h"

namespace samite {

template <int M, int N, int K, int batch, bool transposed_a, bool transposed_b, int threads, class C, class F, class G>
SAMITE_INLINE void tile_matmul(C *c, const F *a, const G *b) {
  using T = Register<C>;
  constexpr int side = 4, down = (M + side - 1) / side, across = (N + side - 1) / side;
  for_each_in_block<batch * down * across, threads>([&](int piece) {
    const int n = piece / (down * across), i0 = piece / across % down * side, j0 = piece % across * side;
    const F *left = a + n * (M * K);
    const G *right = b + n * (K * N);
    C *to = c + n * (M * N);
    // Beyond the edge of the matrix a piece repeats its last row and column. A condition would not suffice: the read
    // may happen before the condition is known, and would read another thread's elements.
    const auto row = [=](int i) { return i0 + i < M ? i0 + i : M - 1; };
    const auto column = [=](int j) { return j0 + j < N ? j0 + j : N - 1; };
    T sum[side][side];
#pragma unroll
    for (int i = 0; i < side; ++i)
#pragma unroll
      for (int j = 0; j < side; ++j) sum[i][j] = T(Register<C>(to[row(i) * N + column(j)]));
    for (int k = 0; k < K; ++k) {
      T x[side], y[side];
#pragma unroll
      for (int i = 0; i < side; ++i) {
        x[i] = T(Register<F>(transposed_a ? left[k * M + row(i)] : left[row(i) * K + k]));
        y[i] = T(Register<G>(transposed_b ? right[column(i) * K + k] : right[k * N + column(i)]));
      }
#pragma unroll
      for (int i = 0; i < side; ++i)
#pragma unroll
        for (int j = 0; j < side; ++j) sum[i][j] = sum[i][j] + x[i] * y[j];
    }
#pragma unroll
    for (int i = 0; i < side; ++i)
#pragma unroll
      for (int j = 0; j < side; ++j)
        if (i0 + i < M && j0 + j < N) to[(i0 + i) * N + j0 + j] = C(sum[i][j]);
  });
}

}  // namespace samite
