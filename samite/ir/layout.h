// Where the elements of a tile lie: one value that says it for all. Passes choose it, the memory plan counts its bytes,
// the verifier and the interpreter ask it for places, the emitter spells it, and the device code that it spells
// computes places by the same functions (device/tile/place.h).
//
//   linear                                 row by row, one element after another
//   rows(64, 8, swizzled)                  in shared memory: rows of 64 elements, each in 8 units of 16 bytes, whose
//                                          places are swizzled with the row's number
//   panels(64, 256)                        in shared memory: 64 rows of 256 elements, in panels that are 128 bytes
//   wide,
//                                          as bulk copies of tensors bring them
//   fragments(matrices, 128, 64, 2, 4)     in the registers of a block's threads: 128 rows and 64 columns, in pieces as
//                                          tensor cores have them, on 2 by 4 warps
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
  std::int64_t columns, units;  // elements of a row, and the units of 16 bytes that it takes
  bool swizzled;

  // Of an element, in elements of so many bytes from the tile's first.
  std::int64_t place(std::int64_t row, std::int64_t column, std::size_t bytes) const;
  friend bool operator==(const RowLayout &, const RowLayout &) = default;
};

struct PanelLayout {
  std::int64_t rows, columns;

  // Of an element, in elements of so many bytes from the tile's first.
  std::int64_t place(std::int64_t row, std::int64_t column, std::size_t bytes) const;
  friend bool operator==(const PanelLayout &, const PanelLayout &) = default;
};

// Each warp, or each group of four warps, has whole pieces of the tile, and each of its threads some elements of each
// piece. What reaches beyond the tile means nothing.
struct FragmentLayout {
  enum class Unit : std::uint8_t {
    fours,                      // 16 by 32 elements: each thread has 4 by 4
    singles,                    // 4 by 8: each thread has one
    matrices,                   // 16 by 8, as tensor cores have their sums
    transposed_matrices,        // 8 by 16, as they have those of the transposed product
    rows,                       // 1 by 128: each thread has 4 elements of a row
    group_matrices,             // 64 by 8, of the four warps of a group, as their tensor cores have the sums
    transposed_group_matrices,  // 8 by 64, as they have those of the transposed product
    group_rows,  // 64 by 1: of each row that a thread has a part of in those, one value, which four threads have
    everywhere,  // 1 by 1: one value, which each thread has
  };

  Unit unit;
  std::int64_t rows, columns;
  std::int64_t down, across;  // warps, or groups of them where a piece is that of a group

  std::int64_t registers() const;  // elements of each thread
  std::int64_t together() const;   // of one row, which lie next to each other
  std::int64_t threads() const;    // of the block
  std::int64_t row(int thread, std::int64_t element) const;
  std::int64_t column(int thread, std::int64_t element) const;
  // Whether that element of that thread is one of the tile's.
  bool holds(int thread, std::int64_t element) const;

  // Whether several threads have the same element.
  bool repeats() const { return unit == Unit::group_rows || in_every_thread(); }
  // Whether all of them have the one element that there is.
  bool in_every_thread() const { return unit == Unit::everywhere; }
  // How the threads have one value for each row of such a tile, where each row is of one warp; and which of these is
  // that of an element's row.
  std::optional<FragmentLayout> of_rows() const;
  std::int64_t register_of_row(std::int64_t element) const;
  friend bool operator==(const FragmentLayout &, const FragmentLayout &) = default;
};

// A piece of a fragment layout: its extents, how many elements of it a thread has, how many of these lie next to each
// other in a row, and the threads that have the piece: those of a warp, or of a group of warps.
struct FragmentPiece {
  std::int64_t rows, columns, registers, together;
  int threads = 32;
};
FragmentPiece piece_of(FragmentLayout::Unit unit);

std::string_view name(FragmentLayout::Unit unit);
std::optional<FragmentLayout::Unit> fragment_unit_from_name(std::string_view name);

using Layout = std::variant<LinearLayout, RowLayout, PanelLayout, FragmentLayout>;

// Bytes that so many elements take in memory. Not of fragments, which take none.
std::int64_t bytes_of(const Layout &layout, ScalarType type, std::int64_t elements);

// Where a tile in shared memory may begin: at a multiple of what any access wants; of the swizzle's period where bulk
// copies write it.
std::int64_t memory_alignment(const Layout &layout);

// Of one of so many buffers of a tile, one after another: where there are several, each begins at such a multiple.
std::int64_t buffer_bytes(const Layout &layout, ScalarType type, std::int64_t elements, int buffers);

// As in the list above.
std::string to_string(const Layout &layout);

}  // namespace samite::ir
