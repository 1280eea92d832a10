// A matrix in a block's shared memory, row by row, with rows at multiples of 16 bytes: device/tile/place.h gives the
// places of its elements, and the reasons.
#pragma once

#include "samite/device/cuda/scalar.h"
#include "samite/device/tile/place.h"

namespace samite {

// `units`: units of a row, at least as many as its elements take. 0: the rows follow one another without padding.
template <class T, int columns_, int units_, bool swizzled_>
struct TileRows {
  static constexpr int columns = columns_, units = units_, of_unit = 16 / int(sizeof(T));
  static constexpr bool swizzled = swizzled_;
  static constexpr bool aligned = units > 0 || columns % of_unit == 0;  // rows are aligned to 16 bytes
  static constexpr int stride = units == 0 ? columns : units * of_unit;
  static constexpr bool linear = !swizzled;  // a place is a term of its row plus a term of its column

  static SAMITE_INLINE_MEMBER int place(int row, int column) { return row_place(row, column, TileRows()); }
  // place(row + rows_on, column + columns_on) is (place(row, column) ^ swizzled_by(…)) + further_by(…). That holds if
  // places are linear, or if row and rows_on have no bit in common, and neither do the units of column and columns_on.
  // If rows_on and columns_on are constants, that is little work, and many elements share place(row, column).
  //
  // The number of a unit among its 8 adjacent ones is swizzled with the row. So the parts that change that number
  // belong to swizzled_by: the columns, and the rows if several of them share 8 units.
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
