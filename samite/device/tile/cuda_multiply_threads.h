// Products whose sums are in registers, computed by the threads' own multiplications and additions: of elements of 4
// bytes. Four terms at a time; every load from shared memory is of 16 bytes.
#pragma once

#include "samite/device/cuda/memory.h"
#include "samite/device/tile/fragments.h"

namespace samite {

// A factor's part of four terms, for all pieces of a thread. `along_terms`: a row of memory has the terms of one row or
// column of the product, else the rows or columns of one term.
template <class Rows, int extent, bool along_terms, int pieces, int step, class T>
SAMITE_INLINE void load_terms(T (&part)[pieces * 4][4], const T *factor, int first, int k, int terms) {
#pragma unroll
  for (int piece = 0; piece < pieces; ++piece) {
    const int from = first + piece * step;
    if constexpr (!Rows::aligned) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int t = 0; t < 4; ++t) {
          const int row = least(from + i, extent - 1);
          if (t < terms)
            part[piece * 4 + i][t] = factor[along_terms ? Rows::place(row, k + t) : Rows::place(k + t, row)];
        }
    } else if constexpr (along_terms) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = least(from + i, extent - 1);
        const Pack<T, 4> pack = load_pack<4>(factor + Rows::place_along(row, 0, k));
#pragma unroll
        for (int t = 0; t < 4; ++t) part[piece * 4 + i][t] = pack.at[t];
      }
    } else {
#pragma unroll
      for (int t = 0; t < 4; ++t) {
        if (t >= terms) break;
        const Pack<T, 4> pack = load_pack<4>(factor + Rows::place(k + t, least(from, (extent - 1) / 4 * 4)));
#pragma unroll
        for (int i = 0; i < 4; ++i) part[piece * 4 + i][t] = pack.at[i];
      }
    }
  }
}

// c += A B for terms k, k + 1, .. of at most four.
template <class Product, int terms, bool transposed_a, bool transposed_b, class RowsOfA, class RowsOfB, class T>
SAMITE_INLINE void add_terms(T (&c)[Product::registers], const T *a, const T *b, int k) {
  constexpr int down = Product::pieces_down, across = Product::pieces_across;
  T left[down * 4][4], right[across * 4][4];
  load_terms<RowsOfA, Product::rows, !transposed_a, down, ThreadPieces::rows>(
      left, a, Product::first_row() + ThreadPieces::row(0), k, terms);
  load_terms<RowsOfB, Product::columns, transposed_b, across, ThreadPieces::columns>(
      right, b, Product::first_column() + ThreadPieces::column(0), k, terms);
#pragma unroll
  for (int t = 0; t < terms; ++t)
#pragma unroll
    for (int i = 0; i < down * 4; ++i)
#pragma unroll
      for (int j = 0; j < across * 4; ++j) {
        T &sum = c[((i / 4) * across + j / 4) * 16 + i % 4 * 4 + j % 4];
        sum = sum + left[i][t] * right[j][t];
      }
}

template <class Product, int K, bool transposed_a, bool transposed_b, class RowsOfA, class RowsOfB, class T>
SAMITE_INLINE void tile_multiply_by_threads(T (&c)[Product::registers], const T *a, const T *b) {
  // Where it is written out all places are constants, but for a thread's own.
  constexpr int written_out = K <= 32 ? K : 16;
#pragma unroll 1
  for (int first = 0; first + written_out <= K; first += written_out)
#pragma unroll
    for (int k = 0; k + 4 <= written_out; k += 4)
      add_terms<Product, 4, transposed_a, transposed_b, RowsOfA, RowsOfB>(c, a, b, first + k);
  constexpr int done = K / written_out * written_out, rest = K - done;
  if constexpr (rest > 0 && K > 32)
#pragma unroll 1
    for (int k = done; k + 4 <= K; k += 4)
      add_terms<Product, 4, transposed_a, transposed_b, RowsOfA, RowsOfB>(c, a, b, k);
  if constexpr (K % 4 != 0) add_terms<Product, K % 4, transposed_a, transposed_b, RowsOfA, RowsOfB>(c, a, b, K / 4 * 4);
}

}  // namespace samite
