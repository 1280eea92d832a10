// The elements of a product that a block's threads have in their registers; device/tile/place.h has the formulas.
//
// The warps, or the warp groups if a piece belongs to a group, are arranged `down` by `across` over the rows and
// columns. Each has whole pieces. Elements of a piece beyond the matrix exist, but their values are meaningless.
#pragma once

#include "samite/device/tile/rows.h"

namespace samite {

SAMITE_INLINE u32 flat_thread();
// Unsigned: with a signed remainder, products of 16-bit tiles take 7 % more instructions. Numbers of warps are signed,
// and so are the lanes of cuda_multiply_matrices.h: otherwise products of tf32 tiles take 5 % more, or 13 registers
// more.
SAMITE_INLINE int lane_of_warp() { return int(flat_thread() % 32); }

template <class Pieces, int M, int N, int down, int across>
struct Fragments {
  using Unit = Pieces;
  static constexpr int rows = M, columns = N, warps = down * across, across_warps = across;
  static constexpr int pieces_down = (M + Pieces::rows * down - 1) / (Pieces::rows * down);
  static constexpr int pieces_across = (N + Pieces::columns * across - 1) / (Pieces::columns * across);
  static constexpr int registers = pieces_down * pieces_across * Pieces::registers;
  static constexpr bool whole_rows = M == pieces_down * Pieces::rows * down;
  static constexpr bool whole_columns = N == pieces_across * Pieces::columns * across;

  // Whether the row (column) at which a warp begins has no bit in common with the offsets of its pieces.
  static constexpr bool rows_apart = down == 1 || (pieces_down & (pieces_down - 1)) == 0;
  static constexpr bool columns_apart = across == 1 || (pieces_across & (pieces_across - 1)) == 0;

  static SAMITE_INLINE_MEMBER int warp() { return int(flat_thread()) / Pieces::threads; }
  static SAMITE_INLINE_MEMBER int first_row() { return warp() / across * (pieces_down * Pieces::rows); }
  static SAMITE_INLINE_MEMBER int first_column() { return warp() % across * (pieces_across * Pieces::columns); }
  // The row and the column of register `r`. Registers go piece by piece, row by row.
  static SAMITE_INLINE_MEMBER int row(int r) { return row(warp(), Pieces::thread(), r); }
  static SAMITE_INLINE_MEMBER int column(int r) { return column(warp(), Pieces::thread(), r); }
  // The distances from the row and the column of register 0, equal in every thread.
  static SAMITE_INLINE_MEMBER constexpr int rows_on(int r) { return row(0, 0, r); }
  static SAMITE_INLINE_MEMBER constexpr int columns_on(int r) { return column(0, 0, r); }
  // The number of its element, counted over the whole matrix row by row.
  static SAMITE_INLINE_MEMBER int index(int r) {
    return (row(0) * columns + column(0)) + (rows_on(r) * columns + columns_on(r));
  }
  static SAMITE_INLINE_MEMBER bool holds(int r) {
    return (whole_rows || row(r) < M) && (whole_columns || column(r) < N);
  }

 private:
  static SAMITE_INLINE_MEMBER constexpr int row(int warp, int thread, int r) {
    return piece_row(warp, r, across, pieces_down, pieces_across, Pieces::rows, Pieces::registers) +
           Pieces::row(thread, r % Pieces::registers);
  }
  static SAMITE_INLINE_MEMBER constexpr int column(int warp, int thread, int r) {
    return piece_column(warp, r, across, pieces_across, Pieces::columns, Pieces::registers) +
           Pieces::column(thread, r % Pieces::registers);
  }
};

// The place of register `r`'s element in a tile of those extents in memory. If possible it is the sum of one place of
// the thread and a constant: for 32 registers, the compiler would otherwise keep 32 places in registers.
template <class Rows, class Layout>
SAMITE_INLINE int place_of_register(int r) {
  if constexpr (Rows::linear || (Layout::rows_apart && Layout::columns_apart)) {
    const int rows_on = Layout::rows_on(r), columns_on = Layout::columns_on(r);
    return (Rows::place(Layout::row(0), Layout::column(0)) ^ Rows::swizzled_by(rows_on, columns_on)) +
           Rows::further_by(rows_on, columns_on);
  } else {
    return Rows::place(Layout::row(r), Layout::column(r));
  }
}

// A thread holds `together` consecutive registers of each row of a piece. Only lanes whose numbers differ in the bits
// from `first_lane` to below `end_lane` hold parts of the same rows.

// Pieces of 16 by 8, in the layout of tensor cores' sums.
struct MatrixPieces {
  static constexpr int rows = 16, columns = 8, registers = 4, threads = 32;
  static constexpr int together = 2, first_lane = 1, end_lane = 4;
  static SAMITE_INLINE_MEMBER int thread() { return lane_of_warp(); }
  static SAMITE_INLINE_MEMBER constexpr int row(int thread, int r) { return matrix_row(thread, r); }
  static SAMITE_INLINE_MEMBER constexpr int column(int thread, int r) { return matrix_column(thread, r); }
};

// Pieces of 64 by 8 of the four warps of a group, in the layout of their tensor cores' sums.
struct GroupMatrixPieces {
  static constexpr int rows = 64, columns = 8, registers = 4, threads = 128;
  static constexpr int together = 2, first_lane = 1, end_lane = 4;
  static SAMITE_INLINE_MEMBER int thread() { return int(flat_thread() % 128); }
  static SAMITE_INLINE_MEMBER constexpr int row(int thread, int r) { return group_matrix_row(thread, r); }
  static SAMITE_INLINE_MEMBER constexpr int column(int thread, int r) { return group_matrix_column(thread, r); }
};

// Pieces of 64 by 1: one value for each row that a thread has a part of in those.
struct GroupRowPieces {
  static constexpr int rows = 64, columns = 1, registers = 2, threads = 128, together = 1;
  static SAMITE_INLINE_MEMBER int thread() { return int(flat_thread() % 128); }
  static SAMITE_INLINE_MEMBER constexpr int row(int thread, int r) { return group_row_row(thread, r); }
  static SAMITE_INLINE_MEMBER constexpr int column(int thread, int r) { return group_row_column(thread, r); }
};

// Pieces of 8 by 16. Tensor cores multiply the transposes of the factors, and each piece is the transpose of their
// result.
struct TransposedMatrixPieces {
  static constexpr int rows = 8, columns = 16, registers = 4, threads = 32;
  static constexpr int together = 2, first_lane = 4, end_lane = 32;
  static SAMITE_INLINE_MEMBER int thread() { return lane_of_warp(); }
  static SAMITE_INLINE_MEMBER constexpr int row(int thread, int r) { return transposed_matrix_row(thread, r); }
  static SAMITE_INLINE_MEMBER constexpr int column(int thread, int r) { return transposed_matrix_column(thread, r); }
};

// Pieces of 8 by 64 of the four warps of a group, which multiply the transposes of the factors.
struct TransposedGroupMatrixPieces {
  static constexpr int rows = 8, columns = 64, registers = 4, threads = 128;
  static constexpr int together = 2, first_lane = 4, end_lane = 32;
  static SAMITE_INLINE_MEMBER int thread() { return int(flat_thread() % 128); }
  static SAMITE_INLINE_MEMBER constexpr int row(int thread, int r) { return transposed_group_matrix_row(thread, r); }
  static SAMITE_INLINE_MEMBER constexpr int column(int thread, int r) {
    return transposed_group_matrix_column(thread, r);
  }
};

// Each thread has `side` by `side` elements, and a warp is 4 by 8 threads: 16 by 32 elements if each has 4 by 4.
template <int side>
struct ThreadPieces {
  static constexpr int rows = 4 * side, columns = 8 * side, registers = side * side, of_thread = side, threads = 32;
  static constexpr int together = side, first_lane = 1, end_lane = 8;
  static SAMITE_INLINE_MEMBER int thread() { return lane_of_warp(); }
  static SAMITE_INLINE_MEMBER constexpr int row(int thread, int r) { return square_row(thread, r, side); }
  static SAMITE_INLINE_MEMBER constexpr int column(int thread, int r) { return square_column(thread, r, side); }
};

SAMITE_INLINE constexpr int least(int a, int b) { return a < b ? a : b; }

}  // namespace samite
