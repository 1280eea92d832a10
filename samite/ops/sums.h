// An epilogue's input: the sums of a block's tile of the result, and the tile's position.
#pragma once

#include "samite/jit/tile_kernel.h"
#include "samite/ops/grouped_rows.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace samite::ops {

// For factors of type T, summed in Accumulator: float for floating types of 8 and 16 bits, int32 for integers of 8 and
// 16 bits, T for others. An epilogue reads
//
//   values()          the sums, (rows x columns)
//   for_columns(x)    elements of an array of one number for each column of the result, (1 x columns)
//   for_rows(x)       the same for each row, (rows x 1)
//   for_elements(x)   elements of a matrix that is as large as the result, (rows x columns)
//   inside()          the mask of elements inside the result; others are not stored
//
// and writes with store(array, tile) to a further matrix as large as the result. Elements outside of an array are zero.
//
// In a grouped product (ops/grouped_matmul.h) the tile's rows belong to one group. After that group's last row elements
// of arrays are also zero, nothing is stored, inside() is false, and the sums are unspecified. `for_columns` of a
// matrix of (groups x columns) has the numbers of this group, and group() is its number.
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
  // For rows of a group.
  Sums(Tile<Accumulator> values, RowsOfGroup rows, Int column, Int columns)
      : values_(std::move(values)),
        row_(rows.first),
        column_(std::move(column)),
        rows_(rows.height),
        columns_(std::move(columns)),
        group_(std::move(rows)) {}

  const Tile<Accumulator> &values() const { return values_; }
  // The group of a grouped product; 0 for other products.
  Int group() const { return group_ ? Int(group_->group) : Int(0); }

  template <class U>
  Tile<std::remove_const_t<U>> for_columns(const Array<U, 1> &x,
                                           SourceLocation where = std::source_location::current()) const {
    return tile::reshape(tile::load(x, {column_}, {width()}, where), {1, width()}, where);
  }
  template <class U>
  Tile<std::remove_const_t<U>> for_columns(const Array<U, 2> &x,
                                           SourceLocation where = std::source_location::current()) const {
    return tile::load(x, {group(), column_}, {1, width()}, where);
  }
  template <class U>
  Tile<std::remove_const_t<U>> for_rows(const Array<U, 1> &x,
                                        SourceLocation where = std::source_location::current()) const {
    if (group_) return own(tile::reshape(tile::load_at(x, {row_}, {height()}, where), {height(), 1}, where), where);
    return tile::reshape(tile::load(x, {row_}, {height()}, where), {height(), 1}, where);
  }
  template <class U>
  Tile<std::remove_const_t<U>> for_elements(const Array<U, 2> &x,
                                            SourceLocation where = std::source_location::current()) const {
    if (group_) return own(tile::load_at(x, {row_, first_column()}, {height(), width()}, where), where);
    return tile::load(x, {row_, column_}, {height(), width()}, where);
  }
  template <Scalar U>
  void store(const Array<U, 2> &x, const Tile<U> &tile, SourceLocation where = std::source_location::current()) const {
    if (group_) return detail::store_rows_of_group(x, *group_, first_column(), tile, where);
    tile::store(x, {row_, column_}, tile, where);
  }
  Tile<bool> inside(SourceLocation where = std::source_location::current()) const {
    const Tile<std::int32_t> i = tile::coordinate({height(), 1}, 0, where),
                             j = tile::coordinate({1, width()}, 1, where);
    const Tile<bool> across = j + column_ * static_cast<std::int32_t>(width()) < columns_;
    if (group_) return i < rows_ && across;
    return i + row_ * static_cast<std::int32_t>(height()) < rows_ && across;
  }

 private:
  std::int64_t height() const { return values_.extent(0); }
  std::int64_t width() const { return values_.extent(1); }

  Int first_column() const { return column_ * static_cast<std::int32_t>(width()); }
  template <Scalar U>
  Tile<U> own(const Tile<U> &x, SourceLocation where) const {
    return detail::zero_elsewhere(*group_, x, where);
  }

  Tile<Accumulator> values_;
  Int row_, column_;    // in tiles of this size; for a group the first row
  Int rows_, columns_;  // of the result; for a group the end of its rows
  std::optional<RowsOfGroup> group_;
};

}  // namespace samite::ops
