// A factor in shared memory in the layout that the copy engine writes and that products of warp groups read: in panels,
// with places by device/tile/place.h. Compute capability 9.0.
#pragma once

#include "samite/device/cuda/scalar.h"
#include "samite/device/tile/place.h"

namespace samite {

// A tile of elements with this many bytes each. It begins at a multiple of 1,024 bytes.
template <int bytes_, int rows_, int columns_>
struct Panels {
  static constexpr int bytes = bytes_, rows = rows_, columns = columns_;
  static constexpr int of_unit = 16 / bytes, of_panel = 128 / bytes, panels = columns / of_panel;
  static constexpr int panel_bytes = rows * 128, size = panels * panel_bytes;
  static_assert(columns % of_panel == 0 && rows % 8 == 0 && rows <= 256, "whole panels, each copied as one box");

  static SAMITE_INLINE_MEMBER int place(int row, int column) { return panel_place(row, column, rows, of_unit); }
};

// Such a tile with elements of type T, for threads that load it and write to it: see TileRows.
template <class T, int rows, int columns>
struct TilePanels : Panels<int(sizeof(T)), rows, columns> {
  using Own = Panels<int(sizeof(T)), rows, columns>;
  static constexpr bool swizzled = true, linear = false, aligned = true;

  using Own::place;
  static SAMITE_INLINE_MEMBER int place(int index) { return Own::place(index / columns, index % columns); }
  static constexpr SAMITE_INLINE_MEMBER int swizzled_by(int rows_on, int columns_on) {
    return (columns_on / Own::of_unit % 8 ^ rows_on % 8) * Own::of_unit;
  }
  static constexpr SAMITE_INLINE_MEMBER int further_by(int rows_on, int columns_on) {
    return (columns_on / Own::of_panel * rows + rows_on) * Own::of_panel + columns_on % Own::of_unit;
  }
};

// The layout of a factor for products, besides its address: units swizzled by 128 bytes, and two distances in bytes.
// `along_terms`: a row has terms of one line (a row or column of the product); each group of 8 lines is 1,024 bytes
// after the previous one. Otherwise a row has the same term of many lines; each group of 8 terms is 1,024 bytes after
// the previous one, and the lines of each panel come one panel after the previous ones.
template <class Rows, bool along_terms>
SAMITE_INLINE constexpr u64 factor_format() {
  constexpr u64 swizzled_by_128 = u64(1) << 62, stride = 1024 / 16;
  return swizzled_by_128 | stride << 32 | u64(along_terms ? 1 : Rows::panel_bytes / 16) << 16;
}

// The offset in the factor, in bytes, of the part with terms from `term` on and lines from `line` on: a multiple of 16.
// `line` is a multiple of 8, or of a panel's lines if rows run along lines.
template <class Rows, bool along_terms>
SAMITE_INLINE constexpr int factor_offset(int line, int term) {
  return along_terms ? term / Rows::of_panel * Rows::panel_bytes + line * 128 + term % Rows::of_panel * Rows::bytes
                     : line / Rows::of_panel * Rows::panel_bytes + term * 128;
}

// A warp's tensor cores take, of a factor in registers, 16 lines of 8 terms of 32 bits. If a row has the same term of
// many lines, a thread loads two pairs of neighbours: its term of the first four and that of the last four, of lines
// from `line` on. Half of the threads load the later one first: otherwise two of each 16 would conflict in a bank.
SAMITE_INLINE constexpr bool loads_later_first(int lane) { return lane / 8 % 2 != 0; }
template <class Rows>
SAMITE_INLINE int pair_place(int lane, int line, bool second) {
  return Rows::place(lane % 4 + (loads_later_first(lane) != second ? 4 : 0), line + lane / 4 * 2);
}

// If a row has all terms of one line, a warp loads matrices: thread 8 m + r gives the place of row r of matrix m, which
// has 4 terms of every other line from `line` on, the first ones or, from m = 2 on, the last ones. The four threads
// that get row r have the odd line of a pair first if r >= 4: rows that are 8 lines apart have their units in the same
// banks.
SAMITE_INLINE constexpr bool loads_odd_first(int row) { return row >= 4; }
template <class Rows>
SAMITE_INLINE int matrix_place(int lane, int line) {
  const int row = lane % 8;
  return Rows::place(line + row * 2 + int(loads_odd_first(row) != (lane / 8 % 2 != 0)), lane / 16 * 4);
}

// A descriptor of a factor, or of its part: of its address in shared memory and its format.
SAMITE_INLINE u64 factor_at(u64 format, u32 address) { return format | (address & 0x3ffff) >> 4; }

}  // namespace samite
