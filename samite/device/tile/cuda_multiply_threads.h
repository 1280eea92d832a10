// Products with sums in registers, computed by the threads' own multiplications and additions, for elements of 4 bytes.
// Processes four terms together; every load from shared memory is 16 bytes, or as many elements as are contiguous.
#pragma once

#include "samite/device/cuda/memory.h"
#include "samite/device/tile/fragments.h"

namespace samite {

// Written out: loops, which NVIDIA's compiler unrolls, take it longer, and such products are most of a kernel's compile
// time.
template <class T>
SAMITE_INLINE void put_row(T (&to)[4], const Pack<T, 4> &pack) {
  to[0] = pack.at[0], to[1] = pack.at[1], to[2] = pack.at[2], to[3] = pack.at[3];
}
template <class T>
SAMITE_INLINE void put_column(T (*to)[4], int t, const Pack<T, 4> &pack) {
  to[0][t] = pack.at[0], to[1][t] = pack.at[1], to[2][t] = pack.at[2], to[3][t] = pack.at[3];
}
template <class T>
SAMITE_INLINE void put_column(T (*to)[4], int t, const Pack<T, 1> &pack) {
  to[0][t] = pack.at[0];
}

// Four terms of a factor, for all pieces of a thread. `along_terms`: a row in memory has the terms of one row or column
// of the product; else one term of all rows or columns. `whole`: all elements that are read are in the matrix. `apart`:
// the offsets of the pieces have no bit in common with the thread's first place.
template <class Rows, int extent, bool whole, bool apart, bool along_terms, int pieces, int side, int step, class T>
SAMITE_INLINE void load_terms(T (&part)[pieces * side][4], const T *factor, int first, int k, int terms) {
#pragma unroll
  for (int piece = 0; piece < pieces; ++piece) {
    constexpr bool by_bits = whole && (apart || Rows::linear);
    const int from = first + piece * step;
    if constexpr (!Rows::aligned) {
#pragma unroll
      for (int i = 0; i < side; ++i)
#pragma unroll
        for (int t = 0; t < 4; ++t) {
          const int row = least(from + i, extent - 1);
          if (t < terms)
            part[piece * side + i][t] = factor[along_terms ? Rows::place(row, k + t) : Rows::place(k + t, row)];
        }
    } else if constexpr (along_terms) {
#pragma unroll
      for (int i = 0; i < side; ++i) {
        const int row = by_bits ? first : least(from + i, extent - 1), on = by_bits ? piece * step + i : 0;
        put_row(part[piece * side + i],
                load_pack<4>(factor + (Rows::place(row, 0) ^ Rows::swizzled_by(on, k)) + Rows::further_by(on, k)));
      }
    } else {
#pragma unroll
      for (int t = 0; t < 4; ++t) {
        if (t >= terms) break;
        const int column = by_bits ? first : least(from, (extent - 1) / side * side), on = by_bits ? piece * step : 0;
        put_column(&part[piece * side], t,
                   load_pack<side>(factor + (Rows::place(0, column) ^ Rows::swizzled_by(k + t, on)) +
                                   Rows::further_by(k + t, on)));
      }
    }
  }
}

// Adds the contributions of four terms of f32 to all pieces of a thread.
template <class Product>
SAMITE_INLINE void add_four_terms(f32 (&c)[Product::registers], const f32 (*left)[4], const f32 (*right)[4]) {
  constexpr int down = Product::pieces_down, across = Product::pieces_across, registers = Product::Unit::registers;
#pragma unroll
  for (int j = 0; j < across; ++j) {
    const f32(*own)[4] = right + j * 4;
    const f32 r[4][4] = {{own[0][0], own[0][1], own[0][2], own[0][3]},
                         {own[1][0], own[1][1], own[1][2], own[1][3]},
                         {own[2][0], own[2][1], own[2][2], own[2][3]},
                         {own[3][0], own[3][1], own[3][2], own[3][3]}};
#pragma unroll
    for (int i = 0; i < down * 4; ++i) add_products(&c[(i / 4 * across + j) * registers + i % 4 * 4], left[i], r);
  }
}

// c += A B for at most four terms k, k + 1, …
template <class Product, int terms, bool transposed_a, bool transposed_b, class RowsOfA, class RowsOfB, class T>
SAMITE_INLINE void add_terms(T (&c)[Product::registers], const T *a, const T *b, int k) {
  using Pieces = typename Product::Unit;
  constexpr int down = Product::pieces_down, across = Product::pieces_across, side = Pieces::of_thread;
  T left[down * side][4], right[across * side][4];
  load_terms<RowsOfA, Product::rows, Product::whole_rows, Product::rows_apart, !transposed_a, down, side, Pieces::rows>(
      left, a, Product::row(0), k, terms);
  load_terms<RowsOfB, Product::columns, Product::whole_columns, Product::columns_apart, transposed_b, across, side,
             Pieces::columns>(right, b, Product::column(0), k, terms);
  if constexpr (same_type<T, f32> && side == 4 && terms == 4)
    add_four_terms<Product>(c, left, right);
  else
#pragma unroll
    for (int t = 0; t < terms; ++t)
#pragma unroll
      for (int i = 0; i < down * side; ++i)
#pragma unroll
        for (int j = 0; j < across * side; ++j) {
          T &sum = c[((i / side) * across + j / side) * Pieces::registers + i % side * side + j % side];
          sum = sum + left[i][t] * right[j][t];
        }
}

template <class Product, int K, bool transposed_a, bool transposed_b, class RowsOfA, class RowsOfB, class T>
SAMITE_INLINE void tile_multiply_by_threads(T (&c)[Product::registers], const T *a, const T *b) {
  // Unrolled, all offsets are constants, except the thread's first place. More terms are no faster, and take longer to
  // compile.
  constexpr int written_out = K <= 32 ? K : 8;
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
