// Each operation on tiles compared with hand-written code, and its gradient with differences.
#include "tests/tiles/reference.h"

#include <numeric>

namespace samite::test {
namespace {

using testing::HasSubstr;

constexpr std::int64_t rows = 5, columns = 19;  // of the arrays; no multiple of the tiles
constexpr std::int64_t tile_rows = 3, tile_columns = 8;

// A kernel that computes from each tile of x another one with as many elements, or fewer.
template <class F>
auto each_tile(F function) {
  return TileKernel{"each_tile", {"y", "x"}, [=](Array<double, 2> y, Array<const double, 2> x) {
                      auto [i, j] = block_index<2>();
                      tile::store(y, {i, j}, function(tile::load(x, {i, j}, {tile_rows, tile_columns})));
                    }};
}

// Runs it on numbers, and compares each element with `expected` of a tile of the same numbers with zeros beyond them.
using Expected = std::function<double(const std::function<double(std::int64_t, std::int64_t)> &tile, std::int64_t i,
                                      std::int64_t j)>;
template <class K>
void check(const K &kernel, const Expected &expected, std::int64_t out_rows = tile_rows,
           std::int64_t out_columns = tile_columns) {
  const std::int64_t down = blocks(rows, tile_rows), across = blocks(columns, tile_columns);
  const Matrix x(rows, columns, 7);
  auto input = buffer<double>({rows, columns}, x.values, Gradient::tracked);
  auto output = poisoned<double>({down * out_rows, across * out_columns}, Gradient::tracked);
  kernel.launch({down, across}, output, input);
  std::vector<double> wanted;
  for (std::int64_t r = 0; r < down * out_rows; ++r)
    for (std::int64_t c = 0; c < across * out_columns; ++c) {
      const std::int64_t r0 = r / out_rows * tile_rows, c0 = c / out_columns * tile_columns;
      auto tile = [&](std::int64_t i, std::int64_t j) {
        return r0 + i < rows && c0 + j < columns ? x(r0 + i, c0 + j) : 0.0;
      };
      wanted.push_back(expected(tile, r % out_rows, c % out_columns));
    }
  expect_near(output, wanted, 1e-12);
  GradientReport report = gradcheck(kernel, {down, across}, output, input);
  EXPECT_TRUE(report.passed) << report;
}

TEST(TileOperations, Elements) {
  check(each_tile([](auto x) { return 2 * x * x - x / 3 + 1; }),
        [](auto &x, auto i, auto j) { return 2 * x(i, j) * x(i, j) - x(i, j) / 3 + 1; });
  check(each_tile([](auto x) { return exp(x) * sin(x) + select(x > 0, x, -2 * x); }), [](auto &x, auto i, auto j) {
    return std::exp(x(i, j)) * std::sin(x(i, j)) + (x(i, j) > 0 ? x(i, j) : -2 * x(i, j));
  });
  check(each_tile([](auto x) { return max(x, 0.1) + abs(x) + pow(x * x + 1, 1.5); }), [](auto &x, auto i, auto j) {
    return std::max(x(i, j), 0.1) + std::abs(x(i, j)) + std::pow(x(i, j) * x(i, j) + 1, 1.5);
  });
}

TEST(TileOperations, Map) {
  check(each_tile([](auto x) { return tile::map([](auto a, auto b) { return tanh(a) * b; }, x, x); }),
        [](auto &x, auto i, auto j) { return std::tanh(x(i, j)) * x(i, j); });
}

TEST(TileOperations, ReductionsOfRowsAndColumns) {
  check(each_tile([](auto x) { return x * tile::sum(x, {1}); }), [](auto &x, auto i, auto j) {
    double sum = 0;
    for (std::int64_t k = 0; k < tile_columns; ++k) sum += x(i, k);
    return x(i, j) * sum;
  });
  check(each_tile([](auto x) { return x * tile::sum(x, {0}); }), [](auto &x, auto i, auto j) {
    double sum = 0;
    for (std::int64_t k = 0; k < tile_rows; ++k) sum += x(k, j);
    return x(i, j) * sum;
  });
  check(each_tile([](auto x) { return x * tile::sum(x); }), [](auto &x, auto i, auto j) {
    double sum = 0;
    for (std::int64_t k = 0; k < tile_rows * tile_columns; ++k) sum += x(k / tile_columns, k % tile_columns);
    return x(i, j) * sum;
  });
}

TEST(TileOperations, ProductAlsoOfZeros) {
  check(each_tile([](auto x) { return tile::broadcast<double>(tile::product(x, {1}), {tile_rows, tile_columns}); }),
        [](auto &x, auto i, auto) {
          double product = 1;
          for (std::int64_t k = 0; k < tile_columns; ++k) product *= x(i, k);
          return product;
        });
}

TEST(TileOperations, LeastAndGreatest) {
  // Distinct elements, so that there is a derivative.
  auto apart = [](auto x) {
    return x + 0.01 * tile::cast<double>(tile::coordinate({tile_rows, tile_columns}, 1)) +
           0.1 * tile::cast<double>(tile::coordinate({tile_rows, tile_columns}, 0));
  };
  auto value = [](auto &x, auto i, auto j) {
    return x(i, j) + 0.01 * static_cast<double>(j) + 0.1 * static_cast<double>(i);
  };
  check(each_tile([=](auto x) { return apart(x) - tile::max(apart(x), {1}); }), [=](auto &x, auto i, auto j) {
    double greatest = value(x, i, 0);
    for (std::int64_t k = 0; k < tile_columns; ++k) greatest = std::max(greatest, value(x, i, k));
    return value(x, i, j) - greatest;
  });
  check(each_tile([=](auto x) { return apart(x) * tile::min(apart(x), {0}); }), [=](auto &x, auto i, auto j) {
    double least = value(x, 0, j);
    for (std::int64_t k = 0; k < tile_rows; ++k) least = std::min(least, value(x, k, j));
    return value(x, i, j) * least;
  });
  check(each_tile([=](auto x) { return apart(x) + tile::max(apart(x)); }), [=](auto &x, auto i, auto j) {
    double greatest = value(x, 0, 0);
    for (std::int64_t k = 0; k < tile_rows * tile_columns; ++k)
      greatest = std::max(greatest, value(x, k / tile_columns, k % tile_columns));
    return value(x, i, j) + greatest;
  });
}

TEST(TileOperations, FirstPositions) {
  TileKernel positions{"positions",
                       [](Array<std::int32_t, 2> least, Array<std::int32_t, 1> greatest, Array<const float, 2> x) {
                         auto t = tile::load(x, {0, 0}, {4, 6});
                         tile::store(least, {0, 0}, tile::argmin(t, {1}));
                         greatest(0) = tile::argmax(t);
                       }};
  const std::vector<double> x{3, 1, 1, 2, 5, 5, 0, 0, 0, 0, 0, 0, 9, 8, 7, 6, 5, 4, 1, 2, 3, 4, 9, 3};
  Buffer<std::int32_t> least(device(), {4, 1}), greatest(device(), {1});
  positions.launch({1}, least, greatest, buffer<float>({4, 6}, x));
  EXPECT_THAT(least.to_vector(), testing::ElementsAre(1, 0, 5, 0));
  EXPECT_THAT(greatest.to_vector(), testing::ElementsAre(12));
}

TEST(TileOperations, TransposeAndReshape) {
  check(
      each_tile([](auto x) { return tile::transpose(x); }), [](auto &x, auto i, auto j) { return x(j, i); },
      tile_columns, tile_rows);
  check(
      each_tile([](auto x) { return tile::reshape(x * x, {2, 12}); }),
      [](auto &x, auto i, auto j) {
        const std::int64_t e = i * 12 + j;
        return x(e / tile_columns, e % tile_columns) * x(e / tile_columns, e % tile_columns);
      },
      2, 12);
}

TEST(TileOperations, SlicesAndConcatenation) {
  check(
      each_tile([](auto x) { return tile::slice(x, {1, 2}, {2, 4}); }),
      [](auto &x, auto i, auto j) { return x(i + 1, j + 2); }, 2, 4);
  // With a margin of zeros.
  check(
      each_tile([](auto x) { return tile::slice(x, {-1, -1}, {5, 10}); }),
      [](auto &x, auto i, auto j) {
        return i >= 1 && i <= tile_rows && j >= 1 && j <= tile_columns ? x(i - 1, j - 1) : 0.0;
      },
      5, 10);
  check(
      each_tile([](auto x) { return tile::concatenate(x, 2 * x, 1); }),
      [](auto &x, auto i, auto j) { return j < tile_columns ? x(i, j) : 2 * x(i, j - tile_columns); }, tile_rows,
      2 * tile_columns);
  check(
      each_tile([](auto x) { return tile::concatenate(x, x * x, 0); }),
      [](auto &x, auto i, auto j) { return i < tile_rows ? x(i, j) : x(i - tile_rows, j) * x(i - tile_rows, j); },
      2 * tile_rows, tile_columns);
}

TEST(TileOperations, ElementsByIndex) {
  check(each_tile([](auto x) { return x * tile::extract(x, {1, 3}); }),
        [](auto &x, auto i, auto j) { return x(i, j) * x(1, 3); });
}

TEST(TileOperations, GatherAndScatter) {
  TileKernel exchange{"exchange",
                      {"y", "x", "order"},
                      [](Array<double, 1> y, Array<const double, 1> x, Array<const std::int32_t, 1> order) {
                        auto picked = tile::load(order, {block_index()}, {8});
                        auto values = tile::gather(x, picked);
                        tile::scatter_add(y, picked, values * values);
                      }};
  const std::vector<std::int32_t> order{3, 1, 1, 0, 12, 5, 5, 5, 2, 10, 9, 4};  // 12 is outside
  Buffer<std::int32_t> picked(device(), {12}, order);
  auto x = buffer<double>({11}, numbers(11), Gradient::tracked);
  auto y = buffer<double>({11}, std::vector<double>(11), Gradient::tracked);
  exchange.launch({2}, y, x, picked);
  std::vector<double> expected(11);
  const auto values = numbers(11);
  for (std::int32_t i : order)
    if (i < 11)
      expected[static_cast<std::size_t>(i)] +=
          values[static_cast<std::size_t>(i)] * values[static_cast<std::size_t>(i)];
  // Indices of the last tile beyond the array are zero, and so add the first element.
  expected[0] += 4 * values[0] * values[0];
  expect_near(y, expected, 1e-12);
  GradientReport report = gradcheck(exchange, {2}, y, x, picked);
  EXPECT_TRUE(report.passed) << report;
}

TEST(TileOperations, BranchesAndLoopsCarryTiles) {
  TileKernel sums{"sums", {"y", "x"}, [](Array<double, 1> y, Array<const double, 2> x) {
                    Int i = block_index();
                    Tile<double> sum = tile::zeros<double>({8}), last = tile::full<double>({8}, 1);
                    for (Int k : range(x.extent(0))) {
                      Tile<double> row = tile::load(x, {k, i}, {8});
                      if_(k % 2 == 0, [&] { sum += row * last; }, [&] { sum = sum * 0.5; });
                      last = row;
                    }
                    tile::store(y, {i}, sum + last);
                  }};
  const Matrix x(7, 13, 3);
  auto input = buffer<double>({7, 13}, x.values, Gradient::tracked);
  auto y = poisoned<double>({13}, Gradient::tracked);
  sums.launch({2}, y, input);
  std::vector<double> expected;
  for (std::int64_t j = 0; j < 13; ++j) {
    double sum = 0, last = 1;
    for (std::int64_t k = 0; k < 7; ++k) {
      if (k % 2 == 0)
        sum += x(k, j) * last;
      else
        sum *= 0.5;
      last = x(k, j);
    }
    expected.push_back(sum + last);
  }
  expect_near(y, expected, 1e-12);
  GradientReport report = gradcheck(sums, {2}, y, input);
  EXPECT_TRUE(report.passed) << report;
}

// Values of each iteration that are needed again are stored.
TEST(TileOperations, LoopsKeepTiles) {
  TileKernel powers{"powers", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                      Int i = block_index();
                      Tile<double> value = tile::load(x, {i}, {4});
                      for ([[maybe_unused]] Int k : range(3)) value = value * value + 0.1;
                      tile::store(y, {i}, value);
                    }};
  auto x = buffer<double>({6}, numbers(6), Gradient::tracked);
  auto y = poisoned<double>({6}, Gradient::tracked);
  GradientReport report = gradcheck(powers, {2}, y, x);
  EXPECT_TRUE(report.passed) << report;
}

TEST(TileOperations, ExchangedInALoop) {
  TileKernel fibonacci{"fibonacci", [](Array<float, 1> y) {
                         Tile<float> a = tile::zeros<float>({5}), b = tile::full<float>({5}, 1);
                         for ([[maybe_unused]] Int k : range(10)) {
                           Tile<float> next = a + b;
                           a = b;
                           b = next;
                         }
                         tile::store(y, {0}, a);
                       }};
  auto y = poisoned<float>({5});
  fibonacci.launch({1}, y);
  expect_near(y, std::vector<double>(5, 55), 0);
}

TEST(TileOperations, StdSwapAndStdRotateInALoop) {
  TileKernel turned{"turned", [](Array<float, 2> y, Array<const float, 2> x, Int times) {
                      std::vector<Tile<float>> rows;
                      for (int row = 0; row < 4; ++row) rows.push_back(tile::load(x, {row, 0}, {1, 3}));
                      for ([[maybe_unused]] Int k : range(times)) {
                        std::swap(rows[0], rows[1]);
                        std::rotate(rows.begin() + 1, rows.begin() + 2, rows.end());
                      }
                      for (int row = 0; row < 4; ++row) tile::store(y, {row, 0}, rows[std::size_t(row)]);
                    }};
  std::vector<double> values(12);
  std::iota(values.begin(), values.end(), 1);
  std::vector<double> expected = values;
  for (int times = 0; times < 6; ++times) {
    auto y = poisoned<float>({4, 3});
    turned.launch({1}, y, buffer<float>({4, 3}, values), times);
    expect_near(y, expected, 0);
    std::swap_ranges(expected.begin(), expected.begin() + 3, expected.begin() + 3);
    std::rotate(expected.begin() + 3, expected.begin() + 6, expected.end());
  }
}

TEST(TileOperations, Softmax) {
  TileKernel softmax{"softmax", {"y", "x"}, [](Array<double, 2> y, Array<const double, 2> x) {
                       Int i = block_index();
                       Tile<double> row = tile::load(x, {i, 0}, {1, 16});
                       Tile<double> e = exp(row - tile::max(row, {1}));
                       tile::store(y, {i, 0}, e / tile::sum(e, {1}));
                     }};
  const Matrix x(6, 16, [](auto i, auto j) { return std::sin(static_cast<double>(7 * i + j * j)); });
  auto input = buffer<double>({6, 16}, x.values, Gradient::tracked);
  auto y = poisoned<double>({6, 16}, Gradient::tracked);
  softmax.launch({6}, y, input);
  expect_near(y,
              Matrix(6, 16,
                     [&](auto i, auto j) {
                       double sum = 0;
                       for (std::int64_t k = 0; k < 16; ++k) sum += std::exp(x(i, k));
                       return std::exp(x(i, j)) / sum;
                     })
                  .values,
              1e-12);
  GradientReport report = gradcheck(softmax, {6}, y, input);
  EXPECT_TRUE(report.passed) << report;
}

TEST(TileOperations, OtherTypes) {
  auto twice = [](auto zero) {
    using T = decltype(zero);
    TileKernel kernel{"twice", [](Array<T, 2> y, Array<const T, 2> x) {
                        auto [i, j] = block_index<2>();
                        auto t = tile::load(x, {i, j}, {2, 5});
                        tile::store(y, {i, j}, t + t * tile::max(t, {1}));
                      }};
    const Matrix x(3, 7, [](auto i, auto j) { return static_cast<double>(1 + (3 * i + j) % 4); });
    Buffer<T> y(device(), {3, 7});
    kernel.launch({2, 2}, y, buffer<T>(x.extents(), x.values));
    expect_near(y,
                Matrix(3, 7,
                       [&](auto i, auto j) {
                         double greatest = -1e9;
                         for (std::int64_t k = j / 5 * 5; k < j / 5 * 5 + 5; ++k)
                           greatest = std::max(greatest, k < 7 ? x(i, k) : 0.0);
                         return x(i, j) * (1 + greatest);
                       })
                    .values,
                0);
  };
  twice(float{}), twice(half{}), twice(bfloat16{}), twice(std::int32_t{}), twice(std::uint8_t{}), twice(std::int64_t{});
}

TEST(TileOperations, Tape) {
  auto square = each_tile([](auto x) { return x * x; });
  auto x = buffer<double>({3, 8}, numbers(24), Gradient::tracked), y = poisoned<double>({3, 8}, Gradient::tracked),
       z = poisoned<double>({3, 8}, Gradient::tracked);
  Tape tape;
  tape.record([&] {
    square.launch({1, 1}, y, x);
    square.launch({1, 1}, z, y);
  });
  tape.backward({{z, buffer<double>({3, 8}, std::vector<double>(24, 1))}});
  std::vector<double> expected;
  for (double value : numbers(24)) expected.push_back(4 * value * value * value);
  expect_near(x.gradient(), expected, 1e-12);
}

TEST(TileErrors, ExtentsThatDoNotFit) {
  const std::string message = message_of<UserError>([] {
    TileKernel wrong{"wrong", [](Array<float, 2> x) {
                       auto a = tile::load(x, {0, 0}, {4, 8});
                       auto b = tile::load(x, {0, 0}, {8, 4});
                       tile::store(x, {0, 0}, a + b);
                     }};
  });
  EXPECT_THAT(message, HasSubstr("4x8"));
  EXPECT_THAT(message, HasSubstr("8x4"));
  EXPECT_THAT(message, HasSubstr("operations_test.cpp"));
}

TEST(TileErrors, ProductThatIsNone) {
  const std::string message = message_of<UserError>([] {
    TileKernel wrong{"wrong", [](Array<float, 2> x) {
                       auto a = tile::load(x, {0, 0}, {4, 8});
                       tile::store(x, {0, 0}, tile::matmul(a, a));
                     }};
  });
  EXPECT_THAT(message, HasSubstr("matmul of tiles of extents 4x8 and 4x8"));
}

// In their own type 1,000 numbers of 8 bits would wrap around.
template <class T, class Sum>
void expect_wide_sum(T value) {
  const std::int64_t rows = 8, columns = 125;
  const Buffer<T> x(device(), {rows, columns}, std::vector<T>(static_cast<std::size_t>(rows * columns), value));
  const Buffer<Sum> all(device(), {1}), of_rows(device(), {rows, 1});
  const TileKernel sums{"sums", [](Array<const T, 2> x, Array<Sum, 1> all, Array<Sum, 2> of_rows) {
                          const Tile<T> tile = tile::load(x, {0, 0}, {8, 125});
                          all(0) = tile::sum(tile);
                          tile::store(of_rows, {0, 0}, tile::sum(tile, {1}));
                        }};
  sums.launch({1}, x, all, of_rows);
  EXPECT_EQ(all.at(0), static_cast<Sum>(value) * static_cast<Sum>(rows * columns));
  for (const Sum sum : of_rows.to_vector()) EXPECT_EQ(sum, static_cast<Sum>(value) * static_cast<Sum>(columns));
}
TEST(TileOperations, SumsOfSmallIntegersHave32Bits) {
  expect_wide_sum<std::uint8_t, std::uint32_t>(255);
  expect_wide_sum<std::int8_t, std::int32_t>(-128);
  expect_wide_sum<std::uint16_t, std::uint32_t>(65535);
  expect_wide_sum<std::int16_t, std::int32_t>(-32768);
}

TEST(TileErrors, AssignmentKeepsExtents) {
  const std::string message = message_of<UserError>([] {
    TileKernel wrong{"wrong", [](Array<float, 2> x) {
                       auto a = tile::load(x, {0, 0}, {4, 8});
                       a = tile::load(x, {0, 0}, {4, 4});
                     }};
  });
  EXPECT_THAT(message, HasSubstr("extents 4x4 is assigned to one of extents 4x8, which a tile keeps; declare another"));
}

TEST(TileErrors, AssignmentSaysHowToRepeatARow) {
  const std::string message = message_of<UserError>([] {
    TileKernel wrong{"wrong", [](Array<float, 2> x) {
                       Tile<float> a = tile::zeros<float>({8, 8});
                       a = tile::load(x, {0, 0}, {1, 8});
                     }};
  });
  EXPECT_THAT(message, HasSubstr("extents 1x8 is assigned to one of extents 8x8, which a tile keeps; repeat it by "
                                 "tile::broadcast<float>(…, {8, 8})"));
}

TEST(TileErrors, TilesInAKernelOfThreads) {
  const std::string message = message_of<UserError>(
      [] { Kernel wrong{"wrong", [](Array<float, 1> x) { tile::store(x, {0}, tile::zeros<float>({4})); }}; });
  EXPECT_THAT(message, HasSubstr("TileKernel"));
}

TEST(TileErrors, ThreadIndexInATileKernel) {
  const std::string message =
      message_of<UserError>([] { TileKernel wrong{"wrong", [](Array<float, 1> x) { x(thread_index()) = 1; }}; });
  EXPECT_THAT(message, HasSubstr("block_index"));
}

TEST(TileErrors, BlockIndexInAKernelOfThreads) {
  const std::string message =
      message_of<UserError>([] { Kernel wrong{"wrong", [](Array<float, 1> x) { x(block_index()) = 1; }}; });
  EXPECT_THAT(message, HasSubstr("thread_index"));
}

TEST(TileErrors, Threads) {
  const std::string message = message_of<UserError>(
      [] { TileKernel wrong{"wrong", [](Array<float, 1> x) { x(block_index()) = 1; }, {.threads = 100}}; });
  EXPECT_THAT(message, HasSubstr("100 threads"));
  EXPECT_THAT(message, HasSubstr("multiple of 32"));
}

TEST(TileErrors, Extents) {
  const std::string message = message_of<UserError>(
      [] { TileKernel wrong{"wrong", [](Array<float, 1> x) { tile::store(x, {0}, tile::zeros<float>({0})); }}; });
  EXPECT_THAT(message, HasSubstr("extents {0}"));
}

TEST(TileErrors, MoreElementsThanAnyMemoryHas) {
  const std::string message = message_of<UserError>([] {
    TileKernel wrong{"wrong",
                     [](Array<float, 2> x) { tile::store(x, {0, 0}, tile::zeros<float>({1 << 15, 1 << 14})); }};
  });
  EXPECT_THAT(message, HasSubstr("extents 32768x16384 has more than 2^28 elements"));
  EXPECT_THAT(message, HasSubstr("make it smaller"));
  EXPECT_THAT(message, HasSubstr("operations_test.cpp"));
}

TEST(TileErrors, IndicesOfTheArray) {
  const std::string message = message_of<UserError>(
      [] { TileKernel wrong{"wrong", [](Array<float, 2> x) { tile::store(x, {0}, tile::zeros<float>({4})); }}; });
  EXPECT_THAT(message, HasSubstr("1 indices of an array of rank 2"));
}

}  // namespace
}  // namespace samite::test
