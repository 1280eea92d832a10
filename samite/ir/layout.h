// The layout of a tile: where its elements are. Passes choose it, the memory plan counts its bytes, the verifier and
// the interpreter compute places from it, the emitter prints it, and the emitted device code computes places by the
// same functions (device/tile/place.h).
//
//   linear                                 row by row, contiguous
//   rows(64, 8, swizzled)                  in shared memory: rows of 64 elements, each in 8 units of 16 bytes, whose
//                                          places are swizzled with the row's number
//   panels(64, 256)                        in shared memory: 64 rows of 256 elements, in panels of 128 bytes of
//                                          columns, the layout of bulk tensor copies
//   fragments(matrices, 128, 64, 2, 4)     in the registers of a block's threads: 128 rows and 64 columns, in the
//                                          fragments of tensor cores, on 2 by 4 warps
#pragma once

#include "samite/base/scalar_type.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace samite::ir {

struct LinearLayout {
  friend bool operator==(const LinearLayout &, const LinearLayout &) = default;
};

struct RowLayout {
  std::int64_t columns, units;  // elements of a row, and its units of 16 bytes
  bool swizzled;

  // The place of an element, counted in elements of this many bytes from the tile's first.
  std::int64_t place(std::int64_t row, std::int64_t column, std::size_t bytes) const;
  friend bool operator==(const RowLayout &, const RowLayout &) = default;
};

struct PanelLayout {
  std::int64_t rows, columns;

  // The place of an element, counted in elements of this many bytes from the tile's first.
  std::int64_t place(std::int64_t row, std::int64_t column, std::size_t bytes) const;
  friend bool operator==(const PanelLayout &, const PanelLayout &) = default;
};

// Each warp, or each warp group, has whole fragments of the tile, and each of its threads some elements of each
// fragment. Elements of a fragment beyond the tile's edge are unspecified.
struct FragmentLayout {
  enum class Unit : std::uint8_t {
    fours,                      // 16 by 32 elements: each thread has 4 by 4
    singles,                    // 4 by 8: each thread has one
    matrices,                   // 16 by 8, the sums of mma.sync
    transposed_matrices,        // 8 by 16, the sums of its transposed product
    rows,                       // 1 by 128: each thread has 4 elements of a row
    group_matrices,             // 64 by 8, the sums of wgmma in a warp group
    transposed_group_matrices,  // 8 by 64, the sums of its transposed product
    group_rows,  // 64 by 1: one value for each row of such a fragment, in each of the four threads that share the row
    everywhere,  // 1 by 1: one value, in every thread
  };

  Unit unit;
  std::int64_t rows, columns;
  std::int64_t down, across;  // warps, or warp groups if the fragment is a group's

  std::int64_t registers() const;  // elements in each thread
  std::int64_t together() const;   // contiguous elements of one row
  std::int64_t threads() const;    // of the block
  std::int64_t row(int thread, std::int64_t element) const;
  std::int64_t column(int thread, std::int64_t element) const;
  // Whether this element of this thread is inside the tile.
  bool holds(int thread, std::int64_t element) const;

  // Whether several threads hold the same element.
  bool repeats() const { return unit == Unit::group_rows || in_every_thread(); }
  // Whether every thread holds the only element.
  bool in_every_thread() const { return unit == Unit::everywhere; }
  // The layout of one value for each row of such a tile, if each row belongs to one warp; and the index of the value
  // for an element's row.
  std::optional<FragmentLayout> of_rows() const;
  std::int64_t register_of_row(std::int64_t element) const;
  friend bool operator==(const FragmentLayout &, const FragmentLayout &) = default;
};

// A fragment: its extents, the elements that a thread has of it, how many of these are contiguous in a row, and the
// threads that hold it: a warp, or a warp group.
struct FragmentPiece {
  std::int64_t rows, columns, registers, together;
  int threads = 32;
};
FragmentPiece piece_of(FragmentLayout::Unit unit);

std::string_view name(FragmentLayout::Unit unit);
std::optional<FragmentLayout::Unit> fragment_unit_from_name(std::string_view name);

using Layout = std::variant<LinearLayout, RowLayout, PanelLayout, FragmentLayout>;

// The bytes of this many elements in memory. Not for fragments, which take none.
std::int64_t bytes_of(const Layout &layout, ScalarType type, std::int64_t elements);

// The alignment of a tile in shared memory: that of its widest access, or the swizzle's period if bulk copies write it.
std::int64_t memory_alignment(const Layout &layout);

// The bytes of one of several consecutive buffers of a tile. Each of several buffers begins at such an alignment.
std::int64_t buffer_bytes(const Layout &layout, ScalarType type, std::int64_t elements, int buffers);

// The text of the list above.
std::string to_string(const Layout &layout);

}  // namespace samite::ir
