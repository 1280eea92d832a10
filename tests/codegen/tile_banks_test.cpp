// Bank conflicts of a warp's threads in shared memory, counted from the places that device/tile/rows.h gives to
// elements.
//
// The machine serves a warp's access in turns of 128 bytes: all threads with 4 bytes each, or neighbouring threads
// whose accesses total 128 bytes. In each turn no bank may serve two different words.
#define __device__
#define __forceinline__ inline
#include "samite/device/tile/rows.h"
#include "samite/device/tile/sm90_panels.h"
#include "samite/passes/tiles/place_tiles.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

namespace samite {
namespace {

// The most words that one bank gives in a turn, for accesses of `bytes` at the elements that `place` says.
template <class T>
int ways(int bytes, const std::function<int(int thread)> &place) {
  int most = 0;
  const int together = 128 / bytes;
  for (int first = 0; first < 32; first += together) {
    std::map<int, std::set<int>> words;
    for (int thread = first; thread < first + together; ++thread)
      for (int byte = 0; byte < bytes; byte += 4) {
        const int word = (place(thread) * static_cast<int>(sizeof(T)) + byte) / 4;
        words[word % 32].insert(word);
      }
    for (const auto &[bank, of_bank] : words) most = std::max(most, static_cast<int>(of_bank.size()));
  }
  return most;
}

using passes::Reading;

template <class T, int columns, Reading reading = Reading::Several>
struct RowsFor {
  static constexpr ir::RowLayout rows = passes::factor_rows(columns, sizeof(T), reading);
  using Type = TileRows<T, columns, static_cast<int>(rows.units), rows.swizzled>;
};
template <class T, int columns, Reading reading = Reading::Several>
using Rows = typename RowsFor<T, columns, reading>::Type;

// 16 bytes of each of 8 neighbouring rows, from every column on: `ldmatrix`.
template <class T, int columns>
void expect_matrices() {
  for (int column = 0; column < columns; column += 16 / static_cast<int>(sizeof(T)))
    for (int row = 0; row < 64; row += 8) {
      const auto place = [&](int thread) { return Rows<T, columns>::place(row + thread % 8, column); };
      EXPECT_EQ(ways<T>(16, place), 1) << columns << " of " << sizeof(T) << " bytes, " << row << ' ' << column;
    }
}

// 8 bytes of a factor that bulk copies have brought, which goes into registers.
TEST(TileBanks, PairsOfAFactorInPanels) {
  using Factor = Panels<4, 32, 256>;
  for (int column = 0; column < 256; column += 16)
    for (const bool second : {false, true}) {
      const auto place = [&](int thread) { return pair_place<Factor>(thread, column, second); };
      EXPECT_EQ(ways<float>(8, place), 1) << column << ' ' << second;
    }
}

TEST(TileBanks, MatricesOfAFactorInPanels) {
  using Factor = Panels<4, 256, 64>;
  for (int line = 0; line < 256; line += 16) {
    const auto place = [&](int thread) { return matrix_place<Factor>(thread, line); };
    EXPECT_EQ(ways<float>(16, place), 1) << line;
  }
}

TEST(TileBanks, MatricesOfTensorCores) {
  expect_matrices<short, 8>(), expect_matrices<short, 16>(), expect_matrices<short, 24>();
  expect_matrices<short, 32>(), expect_matrices<short, 40>(), expect_matrices<short, 64>();
  expect_matrices<short, 128>(), expect_matrices<short, 19>(), expect_matrices<short, 256>();
  expect_matrices<signed char, 32>(), expect_matrices<signed char, 64>(), expect_matrices<signed char, 128>();
  expect_matrices<float, 8>(), expect_matrices<float, 16>(), expect_matrices<float, 32>(), expect_matrices<float, 48>();
}

// Element k = thread % 4 of row thread / 4, or the other way round: factors that `ldmatrix` does not take.
template <class T, int columns>
void expect_elements() {
  constexpr int bytes = sizeof(T);
  for (int row = 0; row < 32; row += 4)
    for (int column = 0; column + 8 <= columns; column += 8) {
      const auto down = [&](int thread) { return Rows<T, columns>::place(row + thread % 4, column + thread / 4); };
      EXPECT_EQ(ways<T>(bytes, down), 1) << columns << " of " << bytes << " bytes, " << row << ' ' << column;
    }
  for (int row = 0; row < 32; row += 8)
    for (int column = 0; column + 4 <= columns; column += 4) {
      const auto along = [&](int thread) { return Rows<T, columns>::place(row + thread / 4, column + thread % 4); };
      EXPECT_EQ(ways<T>(bytes, along), 1) << columns << " of " << bytes << " bytes, " << row << ' ' << column;
    }
}

// Words of 4 rows, or pairs of words, if nothing else is read.
template <int columns>
void expect_pairs() {
  using R = Rows<float, columns, Reading::PairsOfFour>;
  for (int row = 0; row < 32; row += 4)
    for (int column = 0; column + 8 <= columns; column += 8) {
      const auto down = [&](int thread) { return R::place(row + thread % 4, column + thread / 4); };
      EXPECT_EQ(ways<float>(4, down), 1) << columns << ", " << row << ' ' << column;
    }
  for (int row = 0; row < 32; row += 4)
    for (int column = 0; column + 16 <= columns; column += 16) {
      const auto pairs = [&](int thread) { return R::place(row + thread % 4, column + thread / 4 * 2); };
      EXPECT_EQ(ways<float>(8, pairs), 1) << columns << ", " << row << ' ' << column;
    }
}

TEST(TileBanks, PairsOfFourRows) {
  expect_pairs<8>(), expect_pairs<16>(), expect_pairs<24>(), expect_pairs<40>(), expect_pairs<48>(), expect_pairs<64>(),
      expect_pairs<128>();
  EXPECT_TRUE((RowsFor<float, 128, Reading::PairsOfFour>::rows.swizzled));
  EXPECT_EQ((RowsFor<float, 48, Reading::PairsOfFour>::rows.units), 14);
}

TEST(TileBanks, ElementsOfTensorCores) {
  expect_elements<float, 16>(), expect_elements<float, 32>(), expect_elements<float, 64>();
  expect_elements<float, 128>();
  expect_elements<double, 8>(), expect_elements<double, 16>(), expect_elements<double, 64>();
  expect_elements<double, 128>();
}

// Threads have 4 by 4 elements, or one, 8 threads side by side: this many elements along a row for each column of
// threads, or 16 bytes of every fourth row, if the factor is transposed.
template <class R, int columns>
void expect_one_row(int side) {
  for (int row = 0; row < 64; ++row)
    for (int column = 0; column + 8 * side <= columns; column += 8 * side) {
      const auto along = [&](int thread) { return R::place(row, column + thread % 8 * side); };
      EXPECT_EQ(ways<float>(4 * side, along), 1) << columns << ", " << side << ": " << row << ' ' << column;
    }
}

template <int columns>
void expect_threads() {
  for (const int side : {4, 1}) {
    expect_one_row<Rows<float, columns>, columns>(side);
    expect_one_row<Rows<float, columns, Reading::OneRow>, columns>(side);
    for (int row = 0; row < 64; row += 8 * side)
      for (int i = 0; i < side; ++i)
        for (int column = 0; column < columns; column += 4) {
          const auto down = [&](int thread) {
            return Rows<float, columns>::place(row + thread % 8 * side + i, column);
          };
          EXPECT_EQ(ways<float>(16, down), 1) << columns << ", " << side << ": " << row << ' ' << i << ' ' << column;
        }
  }
}

TEST(TileBanks, ElementsOfThreads) {
  expect_threads<8>(), expect_threads<16>(), expect_threads<32>(), expect_threads<64>(), expect_threads<128>();
}

// Consecutive units, in the order of loading.
TEST(TileBanks, Loads) {
  const auto expect_loads = [](auto rows, int units) {
    using R = decltype(rows);
    const auto place = [&](int thread) { return R::place(thread / units, thread % units * R::of_unit); };
    EXPECT_EQ(ways<float>(16, place), 1) << units;
  };
  expect_loads(Rows<float, 8>(), 2), expect_loads(Rows<float, 16>(), 4), expect_loads(Rows<float, 32>(), 8);
  expect_loads(Rows<float, 128>(), 32);
}

// No two elements have the same place.
TEST(TileBanks, PlacesDiffer) {
  const auto expect_own_places = [](auto rows, int columns) {
    using R = decltype(rows);
    std::set<int> places;
    for (int row = 0; row < 64; ++row)
      for (int column = 0; column < columns; ++column) places.insert(R::place(row, column));
    EXPECT_EQ(static_cast<int>(places.size()), 64 * columns);
  };
  expect_own_places(Rows<float, 8>(), 8), expect_own_places(Rows<float, 16>(), 16);
  expect_own_places(Rows<float, 19>(), 19), expect_own_places(Rows<float, 64>(), 64);
  expect_own_places(Rows<double, 16>(), 16), expect_own_places(Rows<short, 40>(), 40);
}

// A column of 32 rows, as a transpose reads it: at most four threads conflict; without the swizzle 32 would.
template <class T, int columns>
int ways_of_columns() {
  int most = 0;
  for (int column = 0; column < columns; ++column)
    for (int row = 0; row + 32 <= 64; row += 32)
      most = std::max(most, ways<T>(std::max<int>(4, sizeof(T)), [&](int thread) {
                        const int place = Rows<T, columns>::place(row + thread, column);
                        return place * static_cast<int>(sizeof(T)) / 4 * 4 / static_cast<int>(sizeof(T));
                      }));
  return most;
}

TEST(TileBanks, Columns) {
  EXPECT_LE((ways_of_columns<float, 64>()), 4);
  EXPECT_LE((ways_of_columns<float, 32>()), 4);
  EXPECT_LE((ways_of_columns<float, 48>()), 4);
  EXPECT_LE((ways_of_columns<float, 128>()), 4);
  EXPECT_LE((ways_of_columns<double, 64>()), 4);
  EXPECT_LE((ways_of_columns<short, 64>()), 4);
  EXPECT_LE((ways_of_columns<signed char, 128>()), 4);
}

}  // namespace
}  // namespace samite
