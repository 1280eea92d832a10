// A matrix in a block's shared memory, row by row, so that its rows begin at multiples of 16 bytes: device/tile/place.h
// says where its elements lie, and why.
#pragma once

#include "samite/device/cuda/scalar.h"
#include "samite/device/tile/place.h"

namespace samite {

// `units` of a row: as many as its elements take, or more. 0: the elements lie one after another, at no multiple of
// anything.
template <class T, int columns, int units, bool swizzled>
struct TileRows {
  static constexpr int of_unit = 16 / int(sizeof(T));
  static constexpr bool aligned = units > 0 || columns % of_unit == 0;  // rows, to 16 bytes
  static constexpr int stride = units == 0 ? columns : units * of_unit;
  static constexpr bool linear = !swizzled;  // a place is the sum of what its row and its column give

  static SAMITE_INLINE_MEMBER int place(int row, int column) {
    return row_place(row, column, columns, units, swizzled, of_unit);
  }
  // What is `rows_on` and `columns_on` from place(row, column), where the rows, and the units that the columns are in,
  // have no bit in common or places are linear: (place(row, column) ^ swizzled_by(…)) + further_by(…). Where what is
  // added is known when it is compiled, that is little work, and the first part is the same for many.
  //
  // A unit's number among the 8 that lie side by side is swizzled with the row's, so that what changes that number is
  // part of the swizzle: the columns, and the rows where several of them have 8 units.
  static constexpr SAMITE_INLINE_MEMBER int swizzled_by(int rows_on, int columns_on) {
    return swizzled ? (units_on(rows_on, columns_on) ^ row_swizzle(rows_on, units)) * of_unit : 0;
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
