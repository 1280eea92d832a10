// The places of a tile's elements, as functions of numbers only. Device code computes places with them, and so does
// ir/layout.h, which passes and tests use. No other formula for a place exists.
#pragma once

#ifdef __CUDACC__
#define SAMITE_PLACE static __device__ __forceinline__ constexpr
#else
#define SAMITE_PLACE inline constexpr
#endif

namespace samite {

// A tile in shared memory has rows of `units` units of 16 bytes, `of_unit` elements each; with 0 units its elements are
// contiguous.
//
// Shared memory has 32 banks of 4 bytes: 8 units are adjacent, and the next 8 units are in the same banks. Factors of
// products are read in four ways: 8 units of one row; one unit each of 8 rows; words of two units each of 4 rows; one
// unit each of every fourth of 32 rows. If a row has 2, 4 or a multiple of 8 units, swizzling the place of a unit among
// its 8 with the number of the row avoids bank conflicts in all four ways. An odd number of units in a row makes the
// first two ways conflict-free without a swizzle; a number of units that leaves 2 when divided by 4 does the same for
// the first and the third.

// The number of a unit in its row is exclusive-ored with this.
SAMITE_PLACE int row_swizzle(int row, int units) {
  const int rows_side_by_side = units >= 8 ? 0 : units == 4 ? 1 : 2;  // as a power of two
  return (row >> 3 & 3) << 1 ^ (row >> 2 & 1) ^ ((row & 3) >> rows_side_by_side) << 1;
}

// In elements. `rows` describes the rows: `columns`, `units`, `swizzled` and `of_unit`. Device code passes constants of
// a class, not numbers: NVIDIA's compiler then simplifies divisions by them before it inlines this, and tf32 products
// need fewer registers.
template <class Rows>
SAMITE_PLACE int row_place(int row, int column, const Rows &rows) {
  if (!rows.swizzled) return row * (rows.units == 0 ? rows.columns : rows.units * rows.of_unit) + column;
  const int within = column % rows.of_unit, unit = column / rows.of_unit;
  return rows.units >= 8
             ? row * (rows.units * rows.of_unit) + (unit ^ row_swizzle(row, rows.units)) * rows.of_unit + within
             : ((row * rows.units + unit) ^ row_swizzle(row, rows.units)) * rows.of_unit + within;
}

// A tile in shared memory as written by bulk copies of tensors, with their swizzle of 128 bytes: in panels of 8 units
// of 16 bytes, side by side over the columns, each with all rows of the tile. The number of a unit in its row is
// exclusive-ored with the number of the row. In elements, `of_unit` of a unit each; the tile begins at a multiple of
// 1,024 bytes.
SAMITE_PLACE int panel_place(int row, int column, int rows, int of_unit) {
  const int within = column % of_unit, unit = column / of_unit;
  return ((unit / 8 * rows + row) * 8 + (unit % 8 ^ row % 8)) * of_unit + within;
}

// A piece of a tile in a warp's registers: its rows and columns, and the row and column of register `r` of thread
// `lane`. 16 by 8, the layout of tensor cores' sums.
SAMITE_PLACE int matrix_row(int lane, int r) { return lane / 4 + r / 2 * 8; }
SAMITE_PLACE int matrix_column(int lane, int r) { return lane % 4 * 2 + r % 2; }

// 64 by 8, of the 128 threads of a warp group, the layout of its tensor cores' sums: each warp has 16 rows as above.
SAMITE_PLACE int group_matrix_row(int thread, int r) { return thread / 32 * 16 + matrix_row(thread % 32, r); }
SAMITE_PLACE int group_matrix_column(int thread, int r) { return matrix_column(thread % 32, r); }

// 64 by 1: one value for each row that the thread has a part of above. Four threads have the same value.
SAMITE_PLACE int group_row_row(int thread, int r) { return group_matrix_row(thread, r * 2); }
SAMITE_PLACE int group_row_column(int, int) { return 0; }

// 8 by 16. Tensor cores multiply the transposes of the factors, and each piece is the transpose of their result:
// columns 2 n and 2 n + 1 of the piece are rows n and n + 8 of the result. So a thread reads pairs of neighbours from a
// row of B.
SAMITE_PLACE int transposed_matrix_row(int lane, int r) { return lane % 4 * 2 + r / 2; }
SAMITE_PLACE int transposed_matrix_column(int lane, int r) { return lane / 4 * 2 + r % 2; }

// 8 by 64, of the 128 threads of a warp group: transposed pieces, as above. Each warp has 16 columns.
SAMITE_PLACE int transposed_group_matrix_row(int thread, int r) { return transposed_matrix_row(thread % 32, r); }
SAMITE_PLACE int transposed_group_matrix_column(int thread, int r) {
  return thread / 32 * 16 + transposed_matrix_column(thread % 32, r);
}

// Each thread has `side` by `side` elements, and a warp is 4 by 8 threads: 16 by 32 elements if each has 4 by 4.
SAMITE_PLACE int square_row(int lane, int r, int side) { return lane / 8 * side + r / side; }
SAMITE_PLACE int square_column(int lane, int r, int side) { return lane % 8 * side + r % side; }

// One row by 128 columns: each thread has 4 contiguous elements.
SAMITE_PLACE int spread_row(int, int) { return 0; }
SAMITE_PLACE int spread_column(int lane, int r) { return lane * 4 + r; }

// `across` warps (or warp groups, if a piece belongs to a group) are side by side over the columns of the tile, row by
// row. Each holds whole pieces, `pieces` of them side by side; a piece has `rows` rows (`columns` columns) and
// `registers` registers of each thread. The functions return the first row and column of the piece of register `r`.
SAMITE_PLACE int piece_row(int warp, int r, int across, int pieces_down, int pieces, int rows, int registers) {
  return warp / across * (pieces_down * rows) + r / registers / pieces * rows;
}
SAMITE_PLACE int piece_column(int warp, int r, int across, int pieces, int columns, int registers) {
  return warp % across * (pieces * columns) + r / registers % pieces * columns;
}

// For a tile with one value for each row, in the registers of threads that hold parts of those rows: the register for
// the row of register `r`.
SAMITE_PLACE int register_of_row(int r, int pieces, int registers, int together) {
  return r / (pieces * registers) * (registers / together) + r % registers / together;
}

}  // namespace samite
