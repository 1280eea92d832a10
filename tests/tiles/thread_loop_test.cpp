// Loops over a tile's elements in which three tiles are read, one of them under a condition. When they were unrolled
// with a remainder loop, NVVM has read the wrong one.
#include "tests/tiles/reference.h"

namespace samite::test {
namespace {

// y[row[e], column[e]] += x[e], if that is in the array.
template <class T, class I>
void expect_scattered(std::int64_t count, int threads) {
  SCOPED_TRACE(testing::Message() << count << " elements, " << threads << " threads");
  const TileKernel kernel{"scattered",
                          [=](Array<T, 2> y, Array<const I, 1> row, Array<const I, 1> column, Array<const T, 1> x) {
                            // Each is needed as a whole, so that it lies in memory.
                            auto kept = [&](auto tile) {
                              return tile::reshape(tile::reshape(tile, {1, count}), {count});
                            };
                            auto r = kept(tile::load(row, {0}, {count}));
                            auto c = kept(tile::load(column, {0}, {count}));
                            auto v = kept(tile::load(x, {0}, {count}));
                            const SourceLocation where = std::source_location::current();
                            lang::add_tile(y.index(where), {r.value(where), c.value(where)}, v.value(where), where);
                          },
                          TileOptions{.threads = threads}};
  constexpr std::int64_t rows = 13, columns = 11;
  std::vector<I> row, column;
  std::vector<double> x, expected(static_cast<std::size_t>(rows * columns), 1);
  for (std::int64_t e = 0; e < count; ++e) {
    row.push_back(static_cast<I>(e * 7 % 17 - 2)), column.push_back(static_cast<I>(e * 5 % 15 - 1));
    x.push_back(static_cast<double>(e % 8 + 1));
    if (row.back() >= 0 && row.back() < rows && column.back() >= 0 && column.back() < columns)
      expected[static_cast<std::size_t>(row.back() * columns + column.back())] += x.back();
  }
  auto y = buffer<T>({rows, columns}, std::vector<double>(static_cast<std::size_t>(rows * columns), 1));
  Buffer<I> row_buffer(device(), {count}, row), column_buffer(device(), {count}, column);
  kernel.launch({1}, y, row_buffer, column_buffer, buffer<T>({count}, x));
  expect_near(y, expected, 0);
}

TEST(ThreadLoop, ReadsEachOfThreeTiles) {
  for (const int threads : {32, 64, 256})
    for (const std::int64_t count : {7, 32, 155, 160, 1023, 1024, 1500}) {
      expect_scattered<double, std::int64_t>(count, threads);
      expect_scattered<float, std::int32_t>(count, threads);
    }
}

}  // namespace
}  // namespace samite::test
