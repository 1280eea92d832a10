// The places of a tile's elements in shared memory: each is different, and every way of computing it agrees.
#define __device__
#define __forceinline__ inline
#include "samite/device/tile/rows.h"
#include "samite/passes/tiles/place_tiles.h"

#include <gtest/gtest.h>

#include <set>

namespace samite {
namespace {

// From every place on by every distance that has no bit in common with it, as readers and writers go.
template <class Rows>
void expect_distances(int rows, int columns, int of_unit) {
  for (int row = 0; row < rows; ++row)
    for (int on = 0; row + on < rows; ++on) {
      if (!Rows::linear && (row & on) != 0) continue;
      for (int column = 0; column < columns; ++column)
        for (int across = 0; column + across < columns; ++across) {
          const bool same_unit = column % of_unit + across % of_unit < of_unit;
          if (!Rows::linear && (((column / of_unit) & (across / of_unit)) != 0 || !same_unit)) continue;
          const int place = (Rows::place(row, column) ^ Rows::swizzled_by(on, across)) + Rows::further_by(on, across);
          ASSERT_EQ(place, Rows::place(row + on, column + across))
              << row << " + " << on << ", " << column << " + " << across << " of " << columns;
        }
    }
}

template <class T, int columns, passes::Reading reading>
void expect_places() {
  constexpr ir::RowLayout layout = passes::factor_rows(columns, sizeof(T), reading);
  using Rows = TileRows<T, columns, static_cast<int>(layout.units), layout.swizzled>;
  constexpr int rows = 64, of_unit = 16 / static_cast<int>(sizeof(T));
  std::set<int> places;
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column) {
      const int place = Rows::place(row, column);
      EXPECT_TRUE(place >= 0 && place < rows * layout.units * of_unit);
      EXPECT_TRUE(places.insert(place).second) << row << ' ' << column;
      EXPECT_EQ(place, Rows::place(row * columns + column));
    }
  expect_distances<Rows>(rows, columns, of_unit);
}

template <class T, int columns>
void expect_places() {
  expect_places<T, columns, passes::Reading::OneRow>();
  expect_places<T, columns, passes::Reading::PairsOfFour>();
  expect_places<T, columns, passes::Reading::Several>();
}

template <class T>
void expect_rows_of_all_lengths() {
  // In units of 16 bytes: 1 to 6, 8, 16, and parts of them.
  constexpr int unit = 16 / static_cast<int>(sizeof(T));
  expect_places<T, unit>(), expect_places<T, 2 * unit>(), expect_places<T, 3 * unit>(), expect_places<T, 4 * unit>();
  expect_places<T, 5 * unit>(), expect_places<T, 6 * unit>(), expect_places<T, 8 * unit>();
  expect_places<T, 2 * unit - 1>(), expect_places<T, 4 * unit - 1>(), expect_places<T, 8 * unit - 1>();
}

TEST(TileRows, EveryElementIsFoundFromEveryOther) {
  expect_rows_of_all_lengths<signed char>();
  expect_rows_of_all_lengths<short>();
  expect_rows_of_all_lengths<float>();
  expect_rows_of_all_lengths<double>();
}

}  // namespace
}  // namespace samite
