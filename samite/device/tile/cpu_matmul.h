// Products of matrices stored row by row in a block's memory: C += A B.
//
// Each piece of C stays in registers for a chunk of the inner dimension. The columns of B are packed into panels of two
// registers, unless their layout is already suitable: transposed B is transposed in registers on the way. A is read in
// its own layout, transposed or not; if its type differs from the sums', it is converted first. One row times a
// transposed B is a sum for each column.
#pragma once

#include "samite/device/cpu/half.h"

namespace samite {

template <class T>
struct TileRegisters {
  static constexpr int lanes = SAMITE_VECTOR_BYTES / int(sizeof(T));
  static constexpr int rows = SAMITE_VECTOR_BYTES == 64 ? 8 : 6;  // rows of C in registers, two registers wide
  static constexpr int width = 2 * lanes;
  typedef T Vector __attribute__((ext_vector_type(lanes)));
  typedef T Unaligned __attribute__((ext_vector_type(lanes), aligned(sizeof(T))));
};

// Contiguous elements of a factor, as numbers of the sums' type.
template <class T, class F>
SAMITE_INLINE typename TileRegisters<T>::Vector load_factors(const F *p) {
  using R = TileRegisters<T>;
  using Vector = typename R::Vector;
  if constexpr (__is_same(F, T)) {
    return Vector(*reinterpret_cast<const typename R::Unaligned *>(p));
  } else if constexpr (__is_same(F, Register<F>)) {
    typedef F Elements __attribute__((ext_vector_type(R::lanes), aligned(sizeof(F))));
    return __builtin_convertvector(*reinterpret_cast<const Elements *>(p), Vector);
  } else {
    using Bits = typename F::Bits;
    using Word = typename Bits::Word;
    typedef Word Words __attribute__((ext_vector_type(R::lanes), aligned(sizeof(Word))));
    typedef u32 Wide __attribute__((ext_vector_type(R::lanes)));
    typedef f32 Numbers __attribute__((ext_vector_type(R::lanes)));
    const Words words = *reinterpret_cast<const Words *>(p);
    return __builtin_convertvector((widen_bits<Bits, Numbers>(__builtin_convertvector(words, Wide))), Vector);
  }
}
template <class T, class F>
SAMITE_INLINE void convert_factors(T *to, const F *from, int count) {
  using R = TileRegisters<T>;
  int i = 0;
  for (; i + R::lanes <= count; i += R::lanes)
    *reinterpret_cast<typename R::Unaligned *>(to + i) = load_factors<T>(from + i);
  for (; i < count; ++i) to[i] = T(Register<F>(from[i]));
}

// Transposes a matrix of as many vectors as they have lanes: in each step, two rows `half` apart exchange the lanes
// that belong to the other.
template <class, int... lane>
struct TransposedLanes {
  template <int half, class V>
  static SAMITE_INLINE_MEMBER void exchange(V &a, V &b) {
    constexpr int lanes = sizeof...(lane);
    const V first = __builtin_shufflevector(a, b, ((lane & half) != 0 ? lanes + lane - half : lane)...);
    b = __builtin_shufflevector(a, b, ((lane & half) != 0 ? lanes + lane : lane + half)...);
    a = first;
  }
};
template <int half, int lanes, class V>
SAMITE_INLINE void transpose_lanes(V (&rows)[lanes]) {
  if constexpr (half > 0) {
#pragma unroll
    for (int i = 0; i < lanes; ++i)
      if ((i & half) == 0)
        __make_integer_seq<TransposedLanes, int, lanes>::template exchange<half>(rows[i], rows[i + half]);
    transpose_lanes<half / 2>(rows);
  }
}

// panel[k][j] = B[k, j] for `columns` columns, then zeros. `stride` is the distance between rows in memory.
template <bool transposed, int stride, class T, class F>
SAMITE_INLINE void pack_columns(T *panel, const F *b, int columns, int inner) {
  using R = TileRegisters<T>;
  constexpr int lanes = R::lanes, width = R::width;
  if constexpr (transposed) {
    int j0 = 0;
    const int whole = lanes <= 16 ? inner / lanes * lanes : 0;
    for (; lanes <= 16 && j0 + lanes <= columns; j0 += lanes) {
      const F *from = b + j0 * stride;
#pragma unroll 1
      for (int k = 0; k < whole; k += lanes) {
        typename R::Vector rows[lanes];
#pragma unroll
        for (int j = 0; j < lanes; ++j) rows[j] = load_factors<T>(from + j * stride + k);
        transpose_lanes<lanes / 2>(rows);
#pragma unroll
        for (int i = 0; i < lanes; ++i) *reinterpret_cast<typename R::Vector *>(panel + (k + i) * width + j0) = rows[i];
      }
      for (int k = whole; k < inner; ++k)
        for (int j = 0; j < lanes; ++j) panel[k * width + j0 + j] = T(Register<F>(from[j * stride + k]));
    }
    for (int k = 0; k < inner; ++k)
      for (int j = j0; j < width; ++j) panel[k * width + j] = j < columns ? T(Register<F>(b[j * stride + k])) : T(0);
  } else {
    for (int k = 0; k < inner; ++k) {
      convert_factors(panel + k * width, b + k * stride, columns);
      for (int j = columns; j < width; ++j) panel[k * width + j] = T(0);
    }
  }
}

// C[rows, width] += A[rows, inner] B[inner, width]. Element (i, k) of A is at i * a_row + k * a_step, the rows of B
// b_step apart.
template <int rows, class T>
SAMITE_INLINE void tile_multiply_add(T *c, int c_stride, const T *a, int a_row, int a_step, const T *b, int b_step,
                                     int inner) {
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
    const Vector b0 = *reinterpret_cast<const Unaligned *>(b + k * b_step);
    const Vector b1 = *reinterpret_cast<const Unaligned *>(b + k * b_step + R::lanes);
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const Vector x = Vector(a[i * a_row + k * a_step]);
      sum[i][0] = sum[i][0] + x * b0;
      sum[i][1] = sum[i][1] + x * b1;
    }
  }
#pragma unroll
  for (int i = 0; i < rows; ++i)
#pragma unroll
    for (int j = 0; j < 2; ++j) *reinterpret_cast<Unaligned *>(c + i * c_stride + j * R::lanes) = sum[i][j];
}

// The same for C with possibly fewer than `width` columns, or another type.
template <int rows, bool whole, class T, class C>
SAMITE_INLINE void tile_multiply_rows(C *c, int c_stride, int columns, const T *a, int a_row, int a_step, const T *b,
                                      int b_step, int inner) {
  using R = TileRegisters<T>;
  if constexpr (__is_same(C, T))
    if (whole || columns == R::width) return tile_multiply_add<rows>(c, c_stride, a, a_row, a_step, b, b_step, inner);
  if constexpr (!whole || !__is_same(C, T)) {
    alignas(64) T part[rows][R::width];
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < R::width; ++j) part[i][j] = j < columns ? T(Register<C>(c[i * c_stride + j])) : T(0);
    tile_multiply_add<rows>(&part[0][0], R::width, a, a_row, a_step, b, b_step, inner);
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) c[i * c_stride + j] = C(part[i][j]);
  }
}

// The sum of the lanes of rows[l] in lane l.
template <int half, int lanes, class V>
SAMITE_INLINE V sums_of_lanes(V (&rows)[lanes]) {
  if constexpr (half > 0) {
#pragma unroll
    for (int i = 0; i < half; ++i) {
      __make_integer_seq<TransposedLanes, int, lanes>::template exchange<half>(rows[i], rows[i + half]);
      rows[i] = rows[i] + rows[i + half];
    }
    return sums_of_lanes<half / 2>(rows);
  } else {
    return rows[0];
  }
}

// C += A B for one row and a transposed B, whose columns are not worth packing: each sum's terms are contiguous.
template <int N, int K, class C, class F>
SAMITE_INLINE void tile_multiply_row(C *c, const F *a, const F *b) {
#pragma clang fp contract(fast)
  using T = Register<C>;
  constexpr int lanes = TileRegisters<T>::lanes, whole = K / lanes * lanes;
  for (int j0 = 0; j0 < N; j0 += lanes) {
    // Columns beyond the last one read the last one again; their sums are not stored.
    const auto column = [&](int j) { return b + (j0 + j < N ? j0 + j : N - 1) * K; };
    typename TileRegisters<T>::Vector sum[lanes] = {};
#pragma unroll 1
    for (int k = 0; k < whole; k += lanes) {
      const auto x = load_factors<T>(a + k);
#pragma unroll
      for (int j = 0; j < lanes; ++j) sum[j] = sum[j] + x * load_factors<T>(column(j) + k);
    }
    const auto total = sums_of_lanes<lanes / 2>(sum);
#pragma unroll
    for (int j = 0; j < lanes; ++j) {
      T each = total[j];
      for (int k = whole; k < K; ++k) each = each + T(Register<F>(a[k])) * T(Register<F>(column(j)[k]));
      if (j0 + j < N) c[j0 + j] = C(T(Register<C>(c[j0 + j])) + each);
    }
  }
}

template <int M, int N, int K, bool transposed_a, bool transposed_b, class C, class F>
static __attribute__((noinline)) void tile_multiply(C *c, const F *a, const F *b) {
  using T = Register<C>;
  using R = TileRegisters<T>;
  if constexpr (M == 1 && transposed_b && R::lanes <= 16) return tile_multiply_row<N, K>(c, a, b);
  constexpr bool same = __is_same(F, T), whole = N % R::width == 0;
  // Packing does not pay for few rows of A, which read B only once, nor for short rows, which do not collide in a cache
  // set.
  constexpr bool packed_b = transposed_b || !same || !whole || (M > 2 * R::rows && N * int(sizeof(T)) > 512);
  constexpr int most_rows = 128 / R::rows * R::rows;
  constexpr int chunk = K < 256 ? K : 256, row_chunk = M < most_rows ? M : most_rows;
  alignas(64) T panel[packed_b ? chunk * R::width : 1];
  alignas(64) T converted[same ? 1 : row_chunk * chunk];
  for (int k0 = 0; k0 < K; k0 += chunk) {
    const int inner = K - k0 < chunk ? K - k0 : chunk;
    for (int i0 = 0; i0 < M; i0 += row_chunk) {
      const int rows = M - i0 < row_chunk ? M - i0 : row_chunk;
      const F *const from = transposed_a ? a + k0 * M + i0 : a + i0 * K + k0;
      constexpr int own_row = transposed_a ? 1 : K, own_step = transposed_a ? M : 1;
      const T *left = converted;
      constexpr int row = same ? own_row : transposed_a ? 1 : chunk;
      constexpr int step = same ? own_step : transposed_a ? row_chunk : 1;
      if constexpr (same)
        left = from;
      else if constexpr (transposed_a)
        for (int k = 0; k < inner; ++k) convert_factors(converted + k * step, from + k * own_step, rows);
      else
        for (int i = 0; i < rows; ++i) convert_factors(converted + i * row, from + i * own_row, inner);
      for (int j0 = 0; j0 < N; j0 += R::width) {
        const int columns = N - j0 < R::width ? N - j0 : R::width;
        const T *right = panel;
        constexpr int b_step = packed_b ? R::width : N;
        if constexpr (!packed_b)
          right = b + k0 * N + j0;
        else if constexpr (transposed_b)
          pack_columns<true, K>(panel, b + j0 * K + k0, columns, inner);
        else
          pack_columns<false, N>(panel, b + k0 * N + j0, columns, inner);
        const auto multiply = [&]<int count>(int i) __attribute__((always_inline)) {
          tile_multiply_rows<count, whole>(c + (i0 + i) * N + j0, N, columns, left + i * row, row, step, right, b_step,
                                           inner);
        };
        int i = 0;
#pragma unroll 1
        for (; i + R::rows <= rows; i += R::rows) multiply.template operator()<R::rows>(i);
        // Only the last rows of the matrix can be fewer than R::rows.
        constexpr int rest = M % R::rows;
        if constexpr (rest >= 4)
          if (i + 4 <= rows) multiply.template operator()<4>(i), i += 4;
        if constexpr (rest % 4 >= 2)
          if (i + 2 <= rows) multiply.template operator()<2>(i), i += 2;
        if constexpr (rest % 2 == 1)
          if (i < rows) multiply.template operator()<1>(i);
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
