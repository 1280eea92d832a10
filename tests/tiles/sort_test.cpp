// Rows sorted by tiles against the standard library's stable sort.
#include "tests/tiles/tile_function.h"

#include <numeric>

namespace samite::test {
namespace {

using testing::HasSubstr;

// Few different numbers, so that many are equal.
std::vector<double> few_numbers(std::int64_t count) {
  std::vector<double> x;
  for (std::int64_t i = 0; i < count; ++i) x.push_back(static_cast<double>(i * i * 7 % 23 % 11));
  return x;
}

std::vector<std::size_t> order_of(const std::vector<double> &x, std::int64_t columns, bool descending) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t row = 0; row < x.size(); row += static_cast<std::size_t>(columns))
    std::stable_sort(order.begin() + static_cast<std::ptrdiff_t>(row),
                     order.begin() + static_cast<std::ptrdiff_t>(row) + columns,
                     [&](std::size_t a, std::size_t b) { return descending ? x[a] > x[b] : x[a] < x[b]; });
  return order;
}

template <class T>
void check_types(std::int64_t rows, std::int64_t columns, bool descending) {
  SCOPED_TRACE(testing::Message() << rows << 'x' << columns << ' ' << descending);
  const std::vector<double> x = few_numbers(rows * columns);
  std::vector<double> sorted, places;
  for (std::size_t from : order_of(x, columns, descending)) {
    sorted.push_back(x[from]);
    places.push_back(static_cast<double>(from % static_cast<std::size_t>(columns)));
  }
  // The keys, and the source of each: values of another type.
  TileKernel kernel{"sort", [=](Array<T, 2> keys, Array<std::int32_t, 2> from, Array<const T, 2> x) {
                      auto [k, v] = tile::sort(tile::load(x, {0, 0}, {rows, columns}),
                                               tile::coordinate({rows, columns}, 1), {.descending = descending});
                      tile::store(keys, {0, 0}, k);
                      tile::store(from, {0, 0}, v);
                    }};
  auto keys = poisoned<T>({rows, columns});
  Buffer<std::int32_t> from(device(), {rows, columns});
  kernel.launch({1}, keys, from, buffer<T>({rows, columns}, x));
  expect_near(keys, sorted, 0);
  expect_near(from, places, 0);
}

TEST(TileSort, AnyLength) {
  for (const std::int64_t columns : {1, 2, 3, 8, 17, 64, 100, 1000})
    for (const bool descending : {false, true}) check_types<float>(3, columns, descending);
}

TEST(TileSort, Types) {
  check_types<double>(2, 37, false), check_types<half>(2, 37, true), check_types<bfloat16>(2, 37, false);
  check_types<std::int8_t>(2, 37, true), check_types<std::uint8_t>(2, 37, false);
  check_types<std::int32_t>(2, 37, true), check_types<std::int64_t>(2, 37, false);
}

// Keys of few bits are counted; rows end within a warp's part, and there are fewer keys than threads.
template <class T>
void check_bits(std::int64_t rows, std::int64_t columns, int bits, int threads) {
  SCOPED_TRACE(testing::Message() << rows << 'x' << columns << ' ' << bits << " bits, " << threads << " threads");
  std::vector<T> keys;
  std::uint32_t state = 7;
  for (std::int64_t i = 0; i < rows * columns; ++i)
    keys.push_back(static_cast<T>(((state = state * 1664525U + 1013904223U) >> 8) & ((1U << bits) - 1)));
  std::vector<std::int32_t> expected(keys.size());
  for (std::size_t row = 0; row < keys.size(); row += static_cast<std::size_t>(columns)) {
    const auto begin = expected.begin() + static_cast<std::ptrdiff_t>(row), end = begin + columns;
    std::iota(begin, end, 0);
    std::stable_sort(begin, end, [&](std::int32_t a, std::int32_t b) {
      return keys[row + static_cast<std::size_t>(a)] < keys[row + static_cast<std::size_t>(b)];
    });
  }
  TileKernel kernel{"sort_bits",
                    [=](Array<std::int32_t, 2> order, Array<const T, 2> x) {
                      tile::store(order, {0, 0}, tile::argsort(tile::load(x, {0, 0}, {rows, columns}), {.bits = bits}));
                    },
                    TileOptions{.threads = threads}};
  const Buffer<std::int32_t> order(device(), {rows, columns});
  kernel.launch({1}, order, Buffer<T>(device(), {rows, columns}, keys));
  EXPECT_EQ(order.to_vector(), expected);
}

TEST(TileSort, KeysOfFewBits) {
  check_bits<std::int32_t>(3, 1, 8, 64), check_bits<std::int32_t>(3, 31, 8, 256),
      check_bits<std::uint8_t>(1, 33, 8, 32);
  check_bits<std::uint64_t>(2, 1000, 8, 64), check_bits<std::int16_t>(2, 257, 1, 128);
  check_bits<std::uint32_t>(2, 700, 5, 96), check_bits<std::int64_t>(2, 300, 12, 128);
}

TEST(TileSort, Histogram) {
  const std::vector<std::int32_t> x{2, 0, 2, -1, 3, 1, 2, 7};
  const Buffer<std::int32_t> counts(device(), {2, 3});
  TileKernel kernel{"histogram", [](Array<std::int32_t, 2> counts, Array<const std::int32_t, 2> x) {
                      tile::store(counts, {0, 0}, tile::histogram(tile::load(x, {0, 0}, {2, 4}), 3));
                    }};
  kernel.launch({1}, counts, Buffer<std::int32_t>(device(), {2, 4}, x));
  EXPECT_THAT(counts.to_vector(), testing::ElementsAre(1, 0, 2, 0, 1, 1));
}

TEST(TileSort, NanComesLast) {
  for (const bool descending : {false, true}) {
    const auto argsort = [=](auto x) { return tile::cast<double>(tile::argsort(x, {descending})); };
    const double infinity = std::numeric_limits<double>::infinity();
    const std::vector<double> x{not_written, 1, -infinity, not_written, infinity, -0.0, 0};
    expect_values(argsort, x,
                  descending ? std::vector<double>{4, 1, 5, 6, 2, 0, 3} : std::vector<double>{2, 5, 6, 1, 4, 0, 3}, 0);
  }
}

TEST(TileSort, GradientsGoBack) {
  std::vector<double> x;
  for (int i = 0; i < 24; ++i) x.push_back(0.1 * ((i * 7) % 12) + 0.01 * i);
  const auto sort = [](bool descending) {
    return [=](Tile<double> both) {
      auto keys = tile::reshape(tile::slice(both, {0}, {12}), {2, 6});
      auto values = tile::reshape(tile::slice(both, {12}, {12}), {2, 6});
      auto sorted = tile::sort(keys, values, {.descending = descending});
      return sorted.keys * sorted.keys * sorted.values;
    };
  };
  expect_derivatives(sort(false), x, 12), expect_derivatives(sort(true), x, 12);
}

TEST(TileTake, RepeatsAndLeavesOut) {
  const std::vector<double> x{1, 2, 3, 4, 5, 6};
  const auto take = [](Tile<double> t) {
    auto places = tile::coordinate({2, 5}, 1) * 3 % 7 - tile::coordinate({2, 5}, 0);  // 0 3 6 2 5, and one less
    return tile::take(tile::reshape(t * t, {2, 3}), places);
  };
  expect_function(take, x, {1, 0, 0, 9, 0, 0, 36, 0, 25, 0});
  const auto twice = [](Tile<double> t) { return tile::take(t, tile::coordinate({8}, 0) / 2); };
  expect_function(twice, x, {1, 1, 2, 2, 3, 3, 4, 4});
}

TEST(TileSortErrors, BitsOfOtherKeys) {
  const auto refused = [](auto zero, tile::SortOptions options) {
    using T = decltype(zero);
    return message_of<UserError>(
        [&] { TileKernel wrong{"wrong", [=](Array<T, 1> x) { tile::argsort(tile::load(x, {0}, {4}), options); }}; });
  };
  EXPECT_THAT(refused(0.f, {.bits = 4}), HasSubstr("sort of 4 bits of keys of type f32"));
  EXPECT_THAT(refused(0, {.bits = 33}), HasSubstr("1 to 32 bits"));
  EXPECT_THAT(refused(0, {.bits = -1}), HasSubstr("sort of -1 bits"));
  EXPECT_THAT(refused(0, {.descending = true, .bits = 4}), HasSubstr("descending"));
}

TEST(TileSortErrors, ValuesOfOtherExtents) {
  const std::string message = message_of<UserError>([] {
    TileKernel wrong{"wrong", [](Array<float, 1> x) { tile::sort(tile::load(x, {0}, {4}), tile::load(x, {0}, {5})); }};
  });
  EXPECT_THAT(message, HasSubstr("keys of extents 4 and values of extents 5"));
  EXPECT_THAT(message, HasSubstr("sort_test.cpp"));
}

TEST(TileSortErrors, PlacesOfOtherRows) {
  const std::string message = message_of<UserError>([] {
    TileKernel wrong{"wrong",
                     [](Array<float, 2> x) { tile::take(tile::load(x, {0, 0}, {4, 8}), tile::coordinate({3, 8}, 1)); }};
  });
  EXPECT_THAT(message, HasSubstr("take of a tile of extents 4x8 by places of extents 3x8"));
}

// 600 elements are one 16-bit element, whose gradient is added up with more digits: with 8 it would stay at 256.
template <class T>
void expect_gradient_of_one() {
  TileKernel kernel{"one", {"y", "x"}, [](Array<T, 2> y, Array<const T, 2> x) {
                      const Tile<std::int32_t> places = tile::full<std::int32_t>({1, 600}, 1);
                      tile::store(y, {0, 0}, tile::take(tile::load(x, {0, 0}, {1, 4}), places));
                    }};
  auto x = buffer<T>({1, 4}, {1, 2, 3, 4}, Gradient::tracked), y = poisoned<T>({1, 600}, Gradient::tracked);
  Tape tape;
  tape.record([&] { kernel.launch({1}, y, x); });
  expect_near(y, std::vector<double>(600, 2), 0);
  tape.backward({{y, buffer<T>({1, 600}, std::vector<double>(600, 1))}});
  expect_near(x.gradient(), {0, 600, 0, 0}, 0);
}
TEST(TileTake, GradientsOf16BitsAreAddedUpIn32) {
  expect_gradient_of_one<bfloat16>();
  expect_gradient_of_one<half>();
}

}  // namespace
}  // namespace samite::test
