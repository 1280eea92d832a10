// Which elements of a product the threads of a block have in their registers.
//
// The warps lie `down` by `across` over the rows and columns, each with whole pieces. What reaches beyond the matrix is
// there, and means nothing.
#pragma once

#include "samite/device/tile/rows.h"

namespace samite {

SAMITE_INLINE u32 flat_thread();

template <class Pieces, int M, int N, int down, int across>
struct Fragments {
  using Unit = Pieces;
  static constexpr int rows = M, columns = N, warps = down * across, across_warps = across;
  static constexpr int pieces_down = (M + Pieces::rows * down - 1) / (Pieces::rows * down);
  static constexpr int pieces_across = (N + Pieces::columns * across - 1) / (Pieces::columns * across);
  static constexpr int registers = pieces_down * pieces_across * Pieces::registers;
  static constexpr bool whole_rows = M == pieces_down * Pieces::rows * down;
  static constexpr bool whole_columns = N == pieces_across * Pieces::columns * across;

  // Whether where a warp begins has no bit in common with where its pieces lie.
  static constexpr bool rows_apart = down == 1 || (pieces_down & (pieces_down - 1)) == 0;
  static constexpr bool columns_apart = across == 1 || (pieces_across & (pieces_across - 1)) == 0;

  static SAMITE_INLINE_MEMBER int first_row() {
    return int(flat_thread()) / 32 / across * (pieces_down * Pieces::rows);
  }
  static SAMITE_INLINE_MEMBER int first_column() {
    return int(flat_thread()) / 32 % across * (pieces_across * Pieces::columns);
  }
  // Of register `r`. Piece by piece, row by row.
  static SAMITE_INLINE_MEMBER int row(int r) {
    return first_row() + r / Pieces::registers / pieces_across * Pieces::rows + Pieces::row(r % Pieces::registers);
  }
  static SAMITE_INLINE_MEMBER int column(int r) {
    return first_column() + r / Pieces::registers % pieces_across * Pieces::columns +
           Pieces::column(r % Pieces::registers);
  }
  static SAMITE_INLINE_MEMBER bool holds(int r) {
    return (whole_rows || row(r) < M) && (whole_columns || column(r) < N);
  }
};

// Pieces of 16 by 8, as tensor cores have them.
struct MatrixPieces {
  static constexpr int rows = 16, columns = 8, registers = 4;
  static SAMITE_INLINE_MEMBER int row(int r) { return int(flat_thread()) % 32 / 4 + r / 2 * 8; }
  static SAMITE_INLINE_MEMBER int column(int r) { return int(flat_thread()) % 4 * 2 + r % 2; }
};

// Pieces of 8 by 16, each the transpose of what tensor cores make of the factors' transposes: columns 2 n and 2 n + 1
// are rows n and n + 8 of that. What a thread reads of a row of B lies together in pairs, as do the words of one load.
struct TransposedMatrixPieces {
  static constexpr int rows = 8, columns = 16, registers = 4;
  static SAMITE_INLINE_MEMBER int row(int r) { return int(flat_thread()) % 4 * 2 + r / 2; }
  static SAMITE_INLINE_MEMBER int column(int r) { return int(flat_thread()) % 32 / 4 * 2 + r % 2; }
};

// Each thread has `side` by `side` elements, eight threads lie side by side: 16 by 32 where each has 4 by 4.
template <int side>
struct ThreadPieces {
  static constexpr int rows = 4 * side, columns = 8 * side, registers = side * side, of_thread = side;
  static SAMITE_INLINE_MEMBER int row(int r) { return int(flat_thread()) % 32 / 8 * side + r / side; }
  static SAMITE_INLINE_MEMBER int column(int r) { return int(flat_thread()) % 8 * side + r % side; }
};

SAMITE_INLINE constexpr int least(int a, int b) { return a < b ? a : b; }

}  // namespace samite
