// A matrix in a block's shared memory, row by row, so that its rows begin at multiples of 16 bytes.
//
// Shared memory has 32 banks of 4 bytes: 8 units of 16 bytes lie side by side, and the next 8 are in the same banks.
// Factors of products are read in four ways: 8 units of one row; one unit each of 8 rows; words of two units each of 4
// rows; one unit each of every fourth of 32 rows. Where a row has 2, 4 or a multiple of 8 units, a unit's place within
// its 8 may be swizzled with the row's number such that none of them meets a bank twice. An odd number of units does
// that for the first two by itself, and a number that leaves 2 when divided by 4 for the first and the third.
#pragma once

#include "samite/device/cuda/scalar.h"

namespace samite {

// `units` of a row: as many as its elements take, or more. 0: the elements lie one after another, at no multiple of
// anything.
template <class T, int columns, int units, bool swizzled>
struct TileRows {
  static constexpr int of_unit = 16 / int(sizeof(T));
  static constexpr bool aligned = units > 0 || columns % of_unit == 0;  // rows, to 16 bytes
  static constexpr int stride = units == 0 ? columns : units * of_unit;
  static constexpr bool linear = !swizzled;  // a place is the sum of what its row and its column give

  // What the number of a unit in its row is swizzled with.
  static constexpr SAMITE_INLINE_MEMBER int swizzle(int row) {
    constexpr int rows_side_by_side = units >= 8 ? 0 : units == 4 ? 1 : 2;  // as a power of two
    return (row >> 3 & 3) << 1 ^ (row >> 2 & 1) ^ ((row & 3) >> rows_side_by_side) << 1;
  }
  static SAMITE_INLINE_MEMBER int place(int row, int column) {
    if constexpr (!swizzled)
      return row * stride + column;
    else if constexpr (units >= 8)
      return row * stride + (column / of_unit ^ swizzle(row)) * of_unit + column % of_unit;
    else
      return ((row * units + column / of_unit) ^ swizzle(row)) * of_unit + column % of_unit;
  }
  // What is `rows_on` and `columns_on` from place(row, column), where the rows, and the units that the columns are in,
  // have no bit in common or places are linear: (place(row, column) ^ swizzled_by(…)) + further_by(…). Where what is
  // added is known when it is compiled, that is little work, and the first part is the same for many.
  //
  // A unit's number among the 8 that lie side by side is swizzled with the row's, so that what changes that number is
  // part of the swizzle: the columns, and the rows where several of them have 8 units.
  static constexpr SAMITE_INLINE_MEMBER int swizzled_by(int rows_on, int columns_on) {
    return swizzled ? (units_on(rows_on, columns_on) ^ swizzle(rows_on)) * of_unit : 0;
  }
  static constexpr SAMITE_INLINE_MEMBER int further_by(int rows_on, int columns_on) {
    return rows_on * stride + columns_on - (swizzled ? units_on(rows_on, columns_on) * of_unit : 0);
  }
  static constexpr SAMITE_INLINE_MEMBER int units_on(int rows_on, int columns_on) {
    return (rows_on * units + columns_on / of_unit) % 8;
  }
  static SAMITE_INLINE_MEMBER int place(int index) { return place(index / columns, index % columns); }
};

}  // namespace samite
