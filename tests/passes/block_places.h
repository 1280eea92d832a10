// The places of a planned kernel's tiles, and the elements that each thread of its block has: all that an interpreter
// of the lowered form takes from the plan.
//
// Elements are stored row by row. The plan's swizzle of a tile's rows only changes places within a row of units, and is
// not modelled. The registers of each thread are derived independently of samite/ir/layout.cpp.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/ir/visit.h"

#include <optional>
#include <vector>

namespace samite::test {

struct TilePlace {
  ir::MemorySpace space = ir::MemorySpace::instance;
  ScalarType type = ScalarType::Bool;
  std::int64_t offset = 0;           // of a tile in shared memory
  std::int64_t bytes_of_buffer = 0;  // likewise
  int buffers = 1;
  std::int64_t columns = 0, bytes_of_row = 0;    // 0: one element after another
  std::optional<ir::FragmentLayout> layout{};    // of a tile in registers
  std::optional<ir::Allocate::Buffer> buffer{};  // of other memory, that the tile is

  // The offset of an element in its tile.
  std::int64_t place(std::int64_t element) const {
    const auto bytes = static_cast<std::int64_t>(size_of(type));
    return columns == 0 ? element * bytes : element / columns * bytes_of_row + element % columns * bytes;
  }
};

struct BlockPlaces {
  std::vector<TilePlace> tiles;  // by number of the local array
  std::int64_t shared_bytes = 0;
};

inline BlockPlaces block_places(const ir::Kernel &planned) {
  BlockPlaces places{std::vector<TilePlace>(planned.local_array_count)};
  ir::for_each_statement(planned.body, [&](const ir::Stmt &stmt) {
    const auto *allocate = stmt.as<ir::Allocate>();
    if (!allocate) return;
    TilePlace &own = places.tiles[allocate->array];
    own.space = allocate->space;
    own.type = allocate->type.element();
    own.buffer = allocate->buffer;
    if (const auto *rows = std::get_if<ir::RowLayout>(&allocate->layout))
      own.columns = rows->columns, own.bytes_of_row = rows->units * 16;
    if (const auto *fragments = std::get_if<ir::FragmentLayout>(&allocate->layout)) own.layout = *fragments;
    if (own.space != ir::MemorySpace::shared || own.buffer) return;
    own.offset = allocate->offset.value();
    own.buffers = allocate->stages;
    own.bytes_of_buffer = ir::buffer_bytes(allocate->layout, own.type, allocate->size.as_int(), allocate->stages);
    places.shared_bytes = std::max(places.shared_bytes, own.offset + own.bytes_of_buffer * allocate->stages);
  });
  return places;
}

// The elements, row by row, that each thread has in its registers.
inline std::vector<std::vector<std::int64_t>> elements_of_threads(const ir::FragmentLayout &layout, int threads) {
  if (layout.unit == ir::FragmentLayout::Unit::everywhere)
    return std::vector(static_cast<std::size_t>(threads), std::vector<std::int64_t>{0});
  struct Piece {
    std::int64_t rows, columns, registers, threads = 32;
  };
  using enum ir::FragmentLayout::Unit;
  const Piece piece = layout.unit == fours                       ? Piece{16, 32, 16}
                      : layout.unit == singles                   ? Piece{4, 8, 1}
                      : layout.unit == matrices                  ? Piece{16, 8, 4}
                      : layout.unit == rows                      ? Piece{1, 128, 4}
                      : layout.unit == group_matrices            ? Piece{64, 8, 4, 128}
                      : layout.unit == group_rows                ? Piece{64, 1, 2, 128}
                      : layout.unit == transposed_group_matrices ? Piece{8, 64, 4, 128}
                                                                 : Piece{8, 16, 4};
  const auto row = [&](std::int64_t lane, std::int64_t r) -> std::int64_t {
    switch (layout.unit) {
      case fours: return lane / 8 * 4 + r / 4;
      case singles: return lane / 8;
      case matrices: return lane / 4 + r / 2 * 8;
      case transposed_matrices:
      case transposed_group_matrices: return lane % 4 * 2 + r / 2;
      case group_matrices: return lane / 32 * 16 + lane % 32 / 4 + r / 2 * 8;
      case group_rows: return lane / 32 * 16 + lane % 32 / 4 + r * 8;
      default: return 0;
    }
  };
  const auto column = [&](std::int64_t lane, std::int64_t r) -> std::int64_t {
    switch (layout.unit) {
      case fours: return lane % 8 * 4 + r % 4;
      case singles: return lane % 8;
      case matrices:
      case group_matrices: return lane % 4 * 2 + r % 2;
      case transposed_matrices: return lane / 4 * 2 + r % 2;
      case transposed_group_matrices: return lane / 32 * 16 + lane % 32 / 4 * 2 + r % 2;
      case group_rows: return 0;
      default: return lane * 4 + r;
    }
  };
  const auto pieces = [](std::int64_t extent, std::int64_t of_warps) { return (extent + of_warps - 1) / of_warps; };
  const std::int64_t down = pieces(layout.rows, piece.rows * layout.down),
                     across = pieces(layout.columns, piece.columns * layout.across);
  std::vector<std::vector<std::int64_t>> elements(static_cast<std::size_t>(threads));
  for (std::int64_t thread = 0; thread < threads; ++thread)
    for (std::int64_t p = 0; p < down * across; ++p)
      for (std::int64_t r = 0; r < piece.registers; ++r) {
        const std::int64_t warp = thread / piece.threads, own = thread % piece.threads;
        const std::int64_t i = (warp / layout.across * down + p / across) * piece.rows + row(own, r);
        const std::int64_t j = (warp % layout.across * across + p % across) * piece.columns + column(own, r);
        if (i < layout.rows && j < layout.columns)
          elements[static_cast<std::size_t>(thread)].push_back(i * layout.columns + j);
      }
  return elements;
}

}  // namespace samite::test
