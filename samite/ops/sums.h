// What an epilogue is given: the sums of a block's tile of the result, and where in the result they lie.
#pragma once

#include "samite/jit/tile_kernel.h"

#include <cstdint>
#include <utility>

namespace samite::ops {

// Of factors of type T, which are added up in Accumulator: float for floating types of 8 and 16 bits, int32 for
// integers of 8 and 16 bits, T for others. An epilogue reads
//
//   values()          the sums, (rows x columns)
//   for_columns(x)    elements of an array of one number for each column of the result, (1 x columns)
//   for_rows(x)       the same for each row, (rows x 1)
//   for_elements(x)   elements of a matrix that is as large as the result, (rows x columns)
//   inside()          which elements are inside of the result; the others are not stored
//
// and writes with store(array, tile) to a further matrix as large as the result. Outside of an array elements are zero.
template <Scalar T>
class Sums {
 public:
  using Factor = T;
  using Accumulator = lang::Accumulator<T>;

  // For the library.
  Sums(Tile<Accumulator> values, Int row, Int column, Int rows, Int columns)
      : values_(std::move(values)),
        row_(std::move(row)),
        column_(std::move(column)),
        rows_(std::move(rows)),
        columns_(std::move(columns)) {}

  const Tile<Accumulator> &values() const { return values_; }

  template <class U>
  Tile<std::remove_const_t<U>> for_columns(const Array<U, 1> &x,
                                           SourceLocation where = std::source_location::current()) const {
    return tile::reshape(tile::load(x, {column_}, {width()}, where), {1, width()}, where);
  }
  template <class U>
  Tile<std::remove_const_t<U>> for_rows(const Array<U, 1> &x,
                                        SourceLocation where = std::source_location::current()) const {
    return tile::reshape(tile::load(x, {row_}, {height()}, where), {height(), 1}, where);
  }
  template <class U>
  Tile<std::remove_const_t<U>> for_elements(const Array<U, 2> &x,
                                            SourceLocation where = std::source_location::current()) const {
    return tile::load(x, {row_, column_}, {height(), width()}, where);
  }
  template <Scalar U>
  void store(const Array<U, 2> &x, const Tile<U> &tile, SourceLocation where = std::source_location::current()) const {
    tile::store(x, {row_, column_}, tile, where);
  }
  Tile<bool> inside(SourceLocation where = std::source_location::current()) const {
    const Tile<std::int32_t> i = tile::coordinate({height(), 1}, 0, where),
                             j = tile::coordinate({1, width()}, 1, where);
    return i + row_ * static_cast<std::int32_t>(height()) < rows_ &&
           j + column_ * static_cast<std::int32_t>(width()) < columns_;
  }

 private:
  std::int64_t height() const { return values_.extent(0); }
  std::int64_t width() const { return values_.extent(1); }

  Tile<Accumulator> values_;
  Int row_, column_;    // of tiles of this size
  Int rows_, columns_;  // of the result
};

}  // namespace samite::ops
