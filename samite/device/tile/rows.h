// A matrix in a block's shared memory, row by row, so that its rows begin at multiples of 16 bytes: device/tile/place.h
// says where its elements lie, and why.
#pragma once

#include "samite/device/cuda/scalar.h"
#include "samite/device/tile/place.h"

namespace samite {

// `units`: of a row, as many as its elements take, or more. 0: the rows follow one another without padding.
template <class T, int columns_, int units_, bool swizzled_>
struct TileRows {
  static constexpr int columns = columns_, units = units_, of_unit = 16 / int(sizeof(T));
  static constexpr bool swizzled = swizzled_;
  static constexpr bool aligned = units > 0 || columns % of_unit == 0;  // rows, to 16 bytes
  static constexpr int stride = units == 0 ? columns : units * of_unit;
  static constexpr bool linear = !swizzled;  // a place is a term of its row plus a term of its column

  static SAMITE_INLINE_MEMBER int place(int row, int column) { return row_place(row, column, TileRows()); }
  // place(row + rows_on, column + columns_on) is (place(row, column) ^ swizzled_by(…)) + further_by(…). That holds
  // where places are linear, or where row and rows_on have no bit in common, nor have the units of column and
  // columns_on. Where rows_on and columns_on are constants, that is little work, and many elements share place(row,
  // column).
  //
  // The number of a unit among the 8 that lie side by side is swizzled with the row. So what changes that number is
  // part of swizzled_by: the columns, and the rows where several of them share 8 units.
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
