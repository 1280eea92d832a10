// The places of tile elements: host and device agree on every place in every layout in use, and each element has a
// different place.
#include "samite/ir/layout.h"

#define __device__
#define __forceinline__ inline
#include "samite/device/tile/fragments.h"
#include "samite/device/tile/sm90_panels.h"

namespace samite {

namespace {
u32 current_thread = 0;
}  // namespace
SAMITE_INLINE u32 flat_thread() { return current_thread; }
SAMITE_INLINE int lane() { return static_cast<int>(current_thread) % 32; }

// As in samite/device/tile/cuda_spread.h, which needs more of the device.
struct SpreadPieces {
  static constexpr int rows = 1, columns = 128, registers = 4, threads = 32;
  static int thread() { return lane_of_warp(); }
  static constexpr int row(int thread, int r) { return spread_row(thread, r); }
  static constexpr int column(int thread, int r) { return spread_column(thread, r); }
};

}  // namespace samite

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

namespace samite::ir {
namespace {

using Unit = FragmentLayout::Unit;

template <class T, int rows, int columns_>
struct PanelsAsRows : TilePanels<T, rows, columns_> {
  static constexpr int columns = columns_, units = 0;
};

// Every element of the tile is one register of one thread.
void expect_each_element_once(const FragmentLayout &layout) {
  const auto threads = static_cast<int>(layout.threads());
  std::map<std::pair<std::int64_t, std::int64_t>, int> held;
  for (int thread = 0; thread < threads; ++thread)
    for (std::int64_t r = 0; r < layout.registers(); ++r)
      if (layout.holds(thread, r)) ++held[{layout.row(thread, r), layout.column(thread, r)}];
  EXPECT_EQ(static_cast<std::int64_t>(held.size()), layout.rows * layout.columns) << to_string(layout);
  for (const auto &[element, count] : held) EXPECT_EQ(count, 1) << to_string(layout);
}

// Registers that the layout says lie together are neighbours in a row.
void expect_neighbours_together(const FragmentLayout &layout) {
  for (int thread = 0; thread < layout.threads(); ++thread)
    for (std::int64_t r = 0; r < layout.registers(); ++r) {
      const std::int64_t first = r - r % layout.together();
      EXPECT_EQ(layout.row(thread, r), layout.row(thread, first));
      EXPECT_EQ(layout.column(thread, r), layout.column(thread, first) + r - first);
    }
}

// A thread's place in a tile in memory, plus the offsets to its elements, gives their places.
template <class Rows, class OnDevice>
void expect_places_of_registers(const FragmentLayout &layout) {
  for (int thread = 0; thread < layout.threads(); ++thread) {
    current_thread = static_cast<u32>(thread);
    for (int r = 0; r < OnDevice::registers; ++r)
      if (OnDevice::holds(r))
        ASSERT_EQ((place_of_register<Rows, OnDevice>(r)), Rows::place(OnDevice::row(r), OnDevice::column(r)))
            << to_string(layout) << ' ' << thread << ' ' << r << " of " << Rows::columns << " in " << Rows::units;
  }
}

// In tiles of elements T: without padding, in an odd number of units, in as many as can be swizzled, and in panels.
template <class T, class OnDevice>
void expect_places_in_memory(const FragmentLayout &layout) {
  constexpr int columns = OnDevice::columns, units = (columns * int{sizeof(T)} + 15) / 16;
  constexpr int swizzled = units <= 2 ? 2 : units <= 4 ? 4 : (units + 7) / 8 * 8;
  expect_places_of_registers<TileRows<T, columns, 0, false>, OnDevice>(layout);
  expect_places_of_registers<TileRows<T, columns, units | 1, false>, OnDevice>(layout);
  expect_places_of_registers<TileRows<T, columns, swizzled, true>, OnDevice>(layout);
  if constexpr (columns * sizeof(T) % 128 == 0 && OnDevice::rows % 8 == 0)
    expect_places_of_registers<PanelsAsRows<T, OnDevice::rows, columns>, OnDevice>(layout);
}

template <class Pieces, int rows, int columns, int down, int across>
void expect_as_on_device(Unit unit) {
  using OnDevice = Fragments<Pieces, rows, columns, down, across>;
  const FragmentLayout layout{unit, rows, columns, down, across};
  ASSERT_EQ(layout.registers(), OnDevice::registers) << to_string(layout);
  for (int thread = 0; thread < layout.threads(); ++thread) {
    current_thread = static_cast<u32>(thread);
    for (int r = 0; r < OnDevice::registers; ++r) {
      ASSERT_EQ(layout.row(thread, r), OnDevice::row(r)) << to_string(layout) << ' ' << thread << ' ' << r;
      ASSERT_EQ(layout.column(thread, r), OnDevice::column(r)) << to_string(layout) << ' ' << thread << ' ' << r;
      ASSERT_EQ(layout.holds(thread, r), OnDevice::holds(r)) << to_string(layout) << ' ' << thread << ' ' << r;
      ASSERT_EQ(OnDevice::index(r), OnDevice::row(r) * columns + OnDevice::column(r)) << to_string(layout);
    }
  }
  expect_places_in_memory<u8, OnDevice>(layout);
  expect_places_in_memory<u16, OnDevice>(layout);
  expect_places_in_memory<u32, OnDevice>(layout);
  expect_places_in_memory<u64, OnDevice>(layout);
  expect_each_element_once(layout);
  expect_neighbours_together(layout);
}

// Extents that are whole pieces, and that are not; few warps and many, along either side.
template <class Pieces>
void expect_all_as_on_device(Unit unit) {
  expect_as_on_device<Pieces, 16, 16, 1, 1>(unit);
  expect_as_on_device<Pieces, 64, 64, 2, 4>(unit);
  expect_as_on_device<Pieces, 128, 64, 4, 2>(unit);
  expect_as_on_device<Pieces, 17, 33, 3, 1>(unit);
  expect_as_on_device<Pieces, 5, 129, 1, 5>(unit);
  expect_as_on_device<Pieces, 96, 8, 32, 1>(unit);
  expect_as_on_device<Pieces, 8, 256, 1, 32>(unit);
  expect_as_on_device<Pieces, 1, 1, 2, 2>(unit);
  expect_as_on_device<Pieces, 96, 192, 2, 2>(unit);
}

TEST(FragmentLayout, IsTheDevices) {
  expect_all_as_on_device<MatrixPieces>(Unit::matrices);
  expect_all_as_on_device<TransposedMatrixPieces>(Unit::transposed_matrices);
  expect_all_as_on_device<ThreadPieces<4>>(Unit::fours);
  expect_all_as_on_device<ThreadPieces<1>>(Unit::singles);
  expect_all_as_on_device<SpreadPieces>(Unit::rows);
  expect_all_as_on_device<GroupMatrixPieces>(Unit::group_matrices);
  expect_as_on_device<GroupMatrixPieces, 128, 256, 2, 1>(Unit::group_matrices);
  expect_as_on_device<GroupMatrixPieces, 256, 128, 2, 1>(Unit::group_matrices);
  expect_as_on_device<GroupMatrixPieces, 64, 256, 1, 2>(Unit::group_matrices);
  expect_all_as_on_device<TransposedGroupMatrixPieces>(Unit::transposed_group_matrices);
  expect_as_on_device<TransposedGroupMatrixPieces, 256, 128, 1, 2>(Unit::transposed_group_matrices);
  expect_as_on_device<TransposedGroupMatrixPieces, 64, 192, 2, 1>(Unit::transposed_group_matrices);
}

TEST(Layout, OneValueOfEachThread) {
  const FragmentLayout layout{Unit::everywhere, 1, 1, 1, 4};
  EXPECT_TRUE(layout.repeats());
  EXPECT_EQ(layout.registers(), 1);
  EXPECT_EQ(layout.threads(), 128);
  for (const int thread : {0, 31, 32, 127}) {
    EXPECT_TRUE(layout.holds(thread, 0));
    EXPECT_EQ(layout.row(thread, 0), 0);
    EXPECT_EQ(layout.column(thread, 0), 0);
  }
  EXPECT_EQ(to_string(Layout{layout}), "fragments(everywhere, 1, 1, 1, 4)");
}

// One value for each row, held by all threads with a part of the row in such sums, in the register that follows from
// those of the sums.
template <int rows, int columns, int down>
void expect_rows_beside() {
  using OnDevice = Fragments<GroupRowPieces, rows, 1, down, 1>;
  const FragmentLayout sums{Unit::group_matrices, rows, columns, down, 1};
  const FragmentLayout layout = sums.of_rows().value();
  EXPECT_TRUE(layout.repeats());
  ASSERT_EQ(layout.registers(), OnDevice::registers);
  std::map<std::int64_t, int> held;
  for (int thread = 0; thread < layout.threads(); ++thread) {
    current_thread = static_cast<u32>(thread);
    for (int r = 0; r < OnDevice::registers; ++r) {
      ++held[layout.row(thread, r)];
      ASSERT_TRUE(layout.holds(thread, r));
      ASSERT_EQ(layout.column(thread, r), 0);
      ASSERT_EQ(layout.row(thread, r), OnDevice::row(r));
      ASSERT_EQ(layout.column(thread, r), OnDevice::column(r));
    }
    for (std::int64_t r = 0; r < sums.registers(); ++r)
      ASSERT_EQ(layout.row(thread, sums.register_of_row(r)), sums.row(thread, r)) << thread << ' ' << r;
  }
  ASSERT_EQ(static_cast<std::int64_t>(held.size()), rows);
  for (const auto &[row, count] : held) EXPECT_EQ(count, 4) << row;
}

TEST(FragmentLayout, ThreadsHaveValuesOfTheirRows) {
  expect_rows_beside<64, 128, 1>();
  expect_rows_beside<128, 64, 2>();
  expect_rows_beside<128, 8, 1>();
  expect_rows_beside<192, 256, 3>();
  EXPECT_FALSE((FragmentLayout{Unit::group_matrices, 64, 256, 1, 2}.of_rows())) << "rows of two groups";
  EXPECT_FALSE((FragmentLayout{Unit::matrices, 64, 64, 4, 1}.of_rows()));
}

// A thread that copies several units finds all of them from the place of its first.
template <int rows, int columns>
void expect_offsets_of_panels() {
  using OnDevice = TilePanels<u16, rows, columns>;
  const PanelLayout layout{rows, columns};
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column) {
      ASSERT_EQ(OnDevice::place(row, column), layout.place(row, column, 2));
      ASSERT_EQ(OnDevice::place(row * columns + column), layout.place(row, column, 2));
    }
  for (int down = 1; down < rows; down *= 2)
    for (int row = 0; row < down; ++row)
      for (int column = 0; column < columns; column += 8)
        for (int on = down; row + on < rows; on += down)
          ASSERT_EQ(OnDevice::place(row + on, column),
                    (OnDevice::place(row, column) ^ OnDevice::swizzled_by(on, 0)) + OnDevice::further_by(on, 0))
              << row << " + " << on << ", " << column;
}

TEST(PanelLayout, IsTheDevices) {
  expect_offsets_of_panels<64, 64>();
  expect_offsets_of_panels<128, 128>();
  expect_offsets_of_panels<192, 64>();
}

// Each element has a different place within the tile's bytes, the one that the hardware's swizzle gives it: address
// bits 4 to 6, exclusive-ored with bits 7 to 9.
template <class T>
void expect_panels(int rows, int columns) {
  const PanelLayout layout{rows, columns};
  std::set<std::int64_t> places;
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column) {
      const std::int64_t byte = layout.place(row, column, sizeof(T)) * static_cast<std::int64_t>(sizeof(T));
      const std::int64_t of_row = column * static_cast<std::int64_t>(sizeof(T));
      const std::int64_t plain = of_row / 128 * rows * 128 + row * 128 + of_row % 128;
      ASSERT_EQ(byte, plain ^ (plain >> 7 & 7) << 4) << row << ' ' << column;
      ASSERT_TRUE(places.insert(byte).second) << row << ' ' << column;
    }
  EXPECT_LT(*places.rbegin(), std::int64_t{rows} * columns * static_cast<std::int64_t>(sizeof(T)));
}

TEST(PanelLayout, IsTheSwizzleOfBulkCopies) {
  expect_panels<short>(64, 256), expect_panels<short>(128, 64), expect_panels<float>(32, 64);
  expect_panels<char>(256, 128), expect_panels<char>(64, 256), expect_panels<short>(8, 128);
}

template <class T, int columns, int units, bool swizzled>
void expect_row_layout() {
  using OnDevice = TileRows<T, columns, units, swizzled>;
  const RowLayout layout{columns, units, swizzled};
  std::set<std::int64_t> places;
  for (int row = 0; row < 64; ++row)
    for (int column = 0; column < columns; ++column) {
      const std::int64_t place = layout.place(row, column, sizeof(T));
      ASSERT_EQ(place, OnDevice::place(row, column)) << row << ' ' << column;
      ASSERT_GE(place, 0);
      ASSERT_LT(place * static_cast<std::int64_t>(sizeof(T)),
                bytes_of(layout, sizeof(T) == 4 ? ScalarType::Float32 : ScalarType::Float16, 64 * columns));
      ASSERT_TRUE(places.insert(place).second) << row << ' ' << column;
    }
}

TEST(RowLayout, IsTheDevices) {
  expect_row_layout<float, 16, 4, true>(), expect_row_layout<float, 8, 2, true>(),
      expect_row_layout<float, 32, 8, true>();
  expect_row_layout<float, 64, 16, true>(), expect_row_layout<float, 19, 5, false>();
  expect_row_layout<short, 64, 8, true>(), expect_row_layout<short, 16, 2, true>(),
      expect_row_layout<short, 40, 5, false>();
  expect_row_layout<float, 7, 2, false>(), expect_row_layout<short, 256, 32, true>();
}

TEST(Layout, TakesTheBytesThatItSays) {
  EXPECT_EQ(bytes_of(LinearLayout{}, ScalarType::Float16, 100), 200);
  EXPECT_EQ(bytes_of(RowLayout{19, 5, false}, ScalarType::Float32, 19 * 4), 5 * 16 * 4);
  EXPECT_EQ(buffer_bytes(LinearLayout{}, ScalarType::Float16, 100, 1), 200);
  EXPECT_EQ(buffer_bytes(LinearLayout{}, ScalarType::Float16, 100, 3), 256);
  EXPECT_EQ(buffer_bytes(PanelLayout{8, 64}, ScalarType::Float16, 8 * 64, 2), 1024);
  EXPECT_EQ(buffer_bytes(PanelLayout{16, 64}, ScalarType::Float16, 16 * 64, 2), 2048);
}

TEST(Layout, PrintsAsItIsWritten) {
  EXPECT_EQ(to_string(LinearLayout{}), "linear");
  EXPECT_EQ(to_string(RowLayout{64, 8, true}), "rows(64, 8, swizzled)");
  EXPECT_EQ(to_string(FragmentLayout{Unit::transposed_matrices, 128, 64, 2, 4}),
            "fragments(transposed_matrices, 128, 64, 2, 4)");
  EXPECT_EQ(to_string(PanelLayout{64, 256}), "panels(64, 256)");
  for (const Unit unit :
       {Unit::fours, Unit::singles, Unit::matrices, Unit::transposed_matrices, Unit::rows, Unit::group_matrices})
    EXPECT_EQ(fragment_unit_from_name(name(unit)), unit);
}

}  // namespace
}  // namespace samite::ir
