// Reductions by a function, tiles made by functions of indices, and elements put into tiles.
#include "tests/tiles/tile_function.h"

namespace samite::test {
namespace {

using testing::HasSubstr;

std::vector<double> moderate(std::int64_t count) {
  std::vector<double> x;
  for (std::int64_t i = 0; i < count; ++i) x.push_back(0.8 * std::sin(static_cast<double>(5 * i + 2)));
  return x;
}

const auto log_of_exponentials = [](auto a, auto b) { return log(exp(a) + exp(b)); };

TEST(TileReduce, AnyExtentAlongAnyDimension) {
  for (const std::int64_t extent : {1, 2, 3, 5, 8, 13}) {
    SCOPED_TRACE(extent);
    const std::vector<double> x = moderate(2 * extent * 3);
    std::vector<double> expected;
    for (std::int64_t o = 0; o < 2; ++o)
      for (std::int64_t n = 0; n < 3; ++n) {
        double sum = 0;
        for (std::int64_t i = 0; i < extent; ++i)
          sum += std::exp(x[static_cast<std::size_t>((o * extent + i) * 3 + n)]);
        expected.push_back(std::log(sum));
      }
    const auto reduce = [=](Tile<double> t) {
      return tile::reduce(tile::reshape(t, {2, extent, 3}), {1}, log_of_exponentials);
    };
    expect_values(reduce, x, expected, 1e-12);
    if (extent == 5) expect_derivatives(reduce, x, 6);
  }
}

// Lengths of whole vectors and with remainders.
TEST(TileReduce, RowsOfManyLengths) {
  for (const std::int64_t length : {1, 7, 15, 16, 17, 63, 64, 65, 255, 257, 2047}) {
    SCOPED_TRACE(length);
    TileKernel reduce{"reduce", [=](Array<float, 2> y, Array<const float, 2> x) {
                        const Tile<float> rows = tile::load(x, {0, 0}, {3, length});
                        tile::store(y, {0, 0}, tile::sum(rows, {1}));
                        tile::store(y, {0, 1}, tile::max(rows, {1}));
                        tile::store(y, {0, 2}, tile::min(rows, {1}));
                      }};
    Matrix x(3, length, 1);
    std::vector<double> expected;
    for (std::int64_t i = 0; i < 3; ++i) {
      const auto *const row = x.values.data() + i * length;
      double sum = 0;
      for (std::int64_t j = 0; j < length; ++j) sum += row[j];
      expected.insert(expected.end(),
                      {sum, *std::max_element(row, row + length), *std::min_element(row, row + length)});
    }
    auto y = poisoned<float>({3, 3});
    reduce.launch({1}, y, buffer<float>(x.extents(), x.values));
    expect_near(y, expected, 1e-3);
    // Wherever it is, a NaN makes the sum NaN, and is not the largest number.
    for (const std::int64_t at : {std::int64_t{0}, length / 2, length - 1}) {
      Matrix with_nan(3, length, 2);
      with_nan.values[static_cast<std::size_t>(length + at)] = not_written;
      with_nan.values[static_cast<std::size_t>(2 * length + at)] = std::numeric_limits<double>::infinity();
      reduce.launch({1}, y, buffer<float>(with_nan.extents(), with_nan.values));
      const std::vector<float> result = y.to_vector();
      EXPECT_TRUE(std::isnan(result[3]));
      EXPECT_EQ(std::isnan(result[4]), length == 1);
      EXPECT_EQ(result[6], std::numeric_limits<float>::infinity());
      EXPECT_EQ(result[7], std::numeric_limits<float>::infinity());
    }
  }
}

TEST(TileReduce, KeepsTheOrder) {
  TileKernel last{"last", [](Array<std::int32_t, 1> y, Array<const std::int32_t, 1> x) {
                    auto t = tile::load(x, {0}, {11});
                    // The later one, unless it is zero: associative, not commutative.
                    tile::store(y, {0}, tile::reduce(t, {0}, [](auto a, auto b) { return select(b == 0, a, b); }));
                    y(1) = tile::reduce(t, [](auto a, auto b) { return select(a == 0, b, a); });
                  }};
  Buffer<std::int32_t> y(device(), {2});
  last.launch({1}, y, buffer<std::int32_t>({11}, {0, 3, 0, 7, 1, 0, 9, 4, 0, 6, 0}));
  EXPECT_THAT(y.to_vector(), testing::ElementsAre(6, 3));
}

TEST(TileReduce, SeveralDimensions) {
  const std::vector<double> x = moderate(12);
  double sum = 0;
  for (double each : x) sum += std::exp(each);
  expect_function([](Tile<double> t) { return tile::reduce(tile::reshape(t, {3, 4}), {0, 1}, log_of_exponentials); }, x,
                  {std::log(sum)});
  expect_function([](Tile<double> t) { return tile::full<double>({1}, tile::reduce(t, log_of_exponentials)); }, x,
                  {std::log(sum)});
}

TEST(TileGenerate, FromIndices) {
  expect_function(
      [](Tile<double> t) {
        return tile::reshape(t, {3, 4}) *
               tile::generate<double>({3, 4}, [](auto i, auto j) { return tile::cast<double>(10 * i + j); });
      },
      std::vector<double>(12, 1), {0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23});
}

TEST(TileInsert, ReplacesOneElement) {
  expect_function(
      [](Tile<double> t) {
        auto square = tile::reshape(t * t, {2, 3});
        return tile::insert(square, {1, 1}, tile::extract(square, {0, 2}) * 10);
      },
      {1, 2, 3, 4, 5, 6}, {1, 4, 9, 16, 90, 36});
  expect_function([](Tile<double> t) { return tile::insert(t, {7}, 1); }, {1, 2, 3}, {1, 2, 3});
}

TEST(TileReduceErrors, Dimension) {
  const std::string message = message_of<UserError>([] {
    TileKernel wrong{"wrong", [](Array<float, 2> x) {
                       tile::reduce(tile::load(x, {0, 0}, {4, 8}), {2}, [](auto a, auto b) { return a + b; });
                     }};
  });
  EXPECT_THAT(message, HasSubstr("along dimension 2 of a tile of extents 4x8"));
  EXPECT_THAT(message, HasSubstr("reduce_test.cpp"));
}

TEST(TileGenerateErrors, Indices) {
  const std::string message = message_of<UserError>([] {
    TileKernel wrong{"wrong", [](Array<std::int32_t, 2> x) {
                       tile::store(x, {0, 0},
                                   tile::generate<std::int32_t>({4, 8}, [](Tile<std::int32_t> i) { return i + 1; }));
                     }};
  });
  EXPECT_THAT(message, HasSubstr("2 dimensions is generated by a function of 1 indices"));
}

TEST(TileInsertErrors, Indices) {
  const std::string message = message_of<UserError>([] {
    TileKernel wrong{"wrong", [](Array<float, 2> x) { tile::insert(tile::load(x, {0, 0}, {4, 8}), {1}, 0); }};
  });
  EXPECT_THAT(message, HasSubstr("at 1 indices into a tile of extents 4x8"));
}

// Rounded to 16 bits each time, the sum would stay at 256.
TEST(TileReduce, SumsOf16BitsGrowBeyondTheirDigits) {
  TileKernel kernel{"sums", {"sums", "x"}, [](Array<bfloat16, 2> sums, Array<const bfloat16, 2> x) {
                      tile::store(sums, {0, 0}, tile::sum(tile::load(x, {0, 0}, {600, 3}), {0}));
                      sums(1, 0) = tile::sum(tile::load(x, {0, 0}, {600, 2}));
                    }};
  const auto sums = buffer<bfloat16>({2, 3}, std::vector<double>(6, 0));
  kernel.launch({1}, sums, buffer<bfloat16>({600, 3}, std::vector<double>(1800, 1)));
  expect_near(sums, {600, 600, 600, 1200, 0, 0}, 0);
}

}  // namespace
}  // namespace samite::test
