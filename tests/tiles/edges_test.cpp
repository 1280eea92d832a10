// Tiles that are partly inside their arrays, at every possible place: elements outside are zero in loads, and unchanged
// by stores.
#include "tests/tiles/reference.h"

namespace samite::test {
namespace {

constexpr int edge_columns = 256;

template <class T>
void check_places(const std::vector<std::int64_t> &first_rows, const std::vector<std::int64_t> &first_columns,
                  std::int64_t width, std::int64_t height) {
  const TileKernel kernel{
      "edges", {"y", "x", "row", "column"}, [](Array<T, 2> y, Array<const T, 2> x, Int64 row, Int64 column) {
        const Tile<T> tile = tile::load_at(x, {row, column}, {3, edge_columns});
        tile::store_at(y, {row + 1, column - 2}, tile + tile);
      }};
  const Matrix x(height, width, 3);
  const auto input = buffer<T>(x.extents(), x.values);
  for (const std::int64_t row : first_rows)
    for (const std::int64_t column : first_columns) {
      SCOPED_TRACE(testing::PrintToString(std::pair(row, column)));
      const auto y = buffer<T>(x.extents(), std::vector<double>(static_cast<std::size_t>(width * height), 9));
      kernel.launch({1}, y, input, row, column);
      const auto at = [&](std::int64_t i, std::int64_t j) {
        return i >= 0 && j >= 0 && i < height && j < width ? x(i, j) : 0.0;
      };
      const Matrix expected(height, width, [&](std::int64_t i, std::int64_t j) {
        // Written so that nothing overflows at the ends of the type.
        const bool inside = i - 1 >= row && i - 1 < row + 3 && j + 2 >= column && j + 2 < column + edge_columns;
        return inside ? 2 * at(i - 1, j + 2) : 9.0;
      });
      expect_near(y, expected.values, 0);
    }
}

TEST(TileEdges, OfAnyBegin) {
  std::vector<std::int64_t> begins;
  for (std::int64_t column = -270; column <= 300; column += 11) begins.push_back(column);
  check_places<float>({-4, -1, 0, 1, 3}, begins, 290, 4);
  check_places<double>({-1, 0, 2}, begins, 133, 3);
  check_places<half>({0, 1}, begins, 256, 5);
}

TEST(TileEdges, OfArraysNarrowerThanAVector) {
  for (const std::int64_t width : {1, 15, 16, 17, 31, 255, 256, 257, 529})
    check_places<float>({0}, {0, 1, -1, 256}, width, 3);
}

TEST(TileEdges, AtTheEndsOfTheType) {
  constexpr std::int64_t large = std::int64_t{1} << 62, small = std::int64_t{1} << 31;
  for (const std::int64_t far : {large, -large, small - 1, small, small + 64, -small, -small - 64})
    check_places<float>({0, far}, {far}, 90, 4);
}

}  // namespace
}  // namespace samite::test
