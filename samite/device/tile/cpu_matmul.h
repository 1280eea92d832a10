// Products of matrices that lie row by row in a block's memory: C += A B.
//
// The columns of B are packed into panels of two registers. So are the rows of A, where A is transposed or has another
// type than the sums. Each piece of C then stays in registers for a chunk of the inner dimension.
#pragma once

#include "samite/device/cpu/half.h"

namespace samite {

template <class T>
struct TileRegisters {
  static constexpr int lanes = SAMITE_VECTOR_BYTES / int(sizeof(T));
  static constexpr int rows = SAMITE_VECTOR_BYTES == 64 ? 8 : 6;  // of C in registers, two wide
  static constexpr int width = 2 * lanes;
  typedef T Vector __attribute__((ext_vector_type(lanes)));
  typedef T Unaligned __attribute__((ext_vector_type(lanes), aligned(sizeof(T))));
};

// C[rows, width] += A[rows, inner] B[inner, width]; the columns of B are packed.
template <int rows, class T>
SAMITE_INLINE void tile_multiply_add(T *c, int c_stride, const T *a, int a_stride, const T *b, int inner) {
#pragma clang fp contract(fast)
  using R = TileRegisters<T>;
  using Vector = typename R::Vector;
  using Unaligned = typename R::Unaligned;
  Vector sum[rows][2];
#pragma unroll
  for (int i = 0; i < rows; ++i)
#pragma unroll
    for (int j = 0; j < 2; ++j) sum[i][j] = *reinterpret_cast<const Unaligned *>(c + i * c_stride + j * R::lanes);
#pragma unroll 1
  for (int k = 0; k < inner; ++k) {
    const Vector b0 = *reinterpret_cast<const Vector *>(b + k * R::width);
    const Vector b1 = *reinterpret_cast<const Vector *>(b + k * R::width + R::lanes);
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const Vector x = Vector(a[i * a_stride + k]);
      sum[i][0] = sum[i][0] + x * b0;
      sum[i][1] = sum[i][1] + x * b1;
    }
  }
#pragma unroll
  for (int i = 0; i < rows; ++i)
#pragma unroll
    for (int j = 0; j < 2; ++j) *reinterpret_cast<Unaligned *>(c + i * c_stride + j * R::lanes) = sum[i][j];
}

// The same where C has fewer than `width` columns, or another type.
template <int rows, class T, class C>
SAMITE_INLINE void tile_multiply_add_part(C *c, int c_stride, int columns, const T *a, int a_stride, const T *b,
                                          int inner) {
  using R = TileRegisters<T>;
  alignas(64) T part[rows][R::width];
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < R::width; ++j) part[i][j] = j < columns ? T(Register<C>(c[i * c_stride + j])) : T(0);
  tile_multiply_add<rows>(&part[0][0], R::width, a, a_stride, b, inner);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) c[i * c_stride + j] = C(part[i][j]);
}

template <int M, int N, int K, bool transposed_a, bool transposed_b, class C, class F>
static __attribute__((noinline)) void tile_multiply(C *c, const F *a, const F *b) {
  using T = Register<C>;
  using R = TileRegisters<T>;
  constexpr int chunk = K < 256 ? K : 256, row_chunk = M < 128 ? M : 128;
  constexpr bool direct = !transposed_a && __is_same(F, T);
  alignas(64) T panel[chunk * R::width];
  alignas(64) T packed[direct ? 1 : row_chunk * chunk];
  for (int k0 = 0; k0 < K; k0 += chunk) {
    const int inner = K - k0 < chunk ? K - k0 : chunk;
    for (int i0 = 0; i0 < M; i0 += row_chunk) {
      const int rows = M - i0 < row_chunk ? M - i0 : row_chunk;
      const T *left = nullptr;
      int stride = K;
      if constexpr (direct) {
        left = a + i0 * K + k0;
      } else {
        for (int i = 0; i < rows; ++i)
          for (int k = 0; k < inner; ++k)
            packed[i * chunk + k] = T(Register<F>(transposed_a ? a[(k0 + k) * M + i0 + i] : a[(i0 + i) * K + k0 + k]));
        left = packed, stride = chunk;
      }
      for (int j0 = 0; j0 < N; j0 += R::width) {
        const int columns = N - j0 < R::width ? N - j0 : R::width;
        if (transposed_b)
          for (int j = 0; j < R::width; ++j)
            for (int k = 0; k < inner; ++k)
              panel[k * R::width + j] = j < columns ? T(Register<F>(b[(j0 + j) * K + k0 + k])) : T(0);
        else
          for (int k = 0; k < inner; ++k)
            for (int j = 0; j < R::width; ++j)
              panel[k * R::width + j] = j < columns ? T(Register<F>(b[(k0 + k) * N + j0 + j])) : T(0);
        int i = 0;
        for (; i + R::rows <= rows; i += R::rows) {
          C *to = c + (i0 + i) * N + j0;
          if constexpr (__is_same(C, T))
            if (columns == R::width) {
              tile_multiply_add<R::rows>(to, N, left + i * stride, stride, panel, inner);
              continue;
            }
          tile_multiply_add_part<R::rows>(to, N, columns, left + i * stride, stride, panel, inner);
        }
        for (; i < rows; ++i)
          tile_multiply_add_part<1>(c + (i0 + i) * N + j0, N, columns, left + i * stride, stride, panel, inner);
      }
    }
  }
}

// `batch` products, one after another.
template <int M, int N, int K, int batch, bool transposed_a, bool transposed_b, class C, class F>
SAMITE_INLINE void tile_matmul(C *c, const F *a, const F *b) {
  for (int n = 0; n < batch; ++n)
    tile_multiply<M, N, K, transposed_a, transposed_b>(c + n * (M * N), a + n * (M * K), b + n * (K * N));
}

}  // namespace samite
