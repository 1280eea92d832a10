// Programs in the style of other tile languages: functions of elements, rows, shapes and memory, many of them in one
// kernel, compared with hand-written code, and their gradients with differences.
#include "tests/tiles/tile_function.h"

#include <algorithm>
#include <numbers>
#include <numeric>

namespace samite::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// One row of all elements of all tiles.
template <Scalar T, class... More>
Tile<T> in_one_row(const Tile<T> &first, const More &...rest) {
  Tile<T> row = flat(first);
  if constexpr (sizeof...(More) == 0)
    return row;
  else
    return tile::concatenate(row, in_one_row(rest...), 0);
}
std::vector<double> in_one_row(const std::vector<std::vector<double>> &parts) {
  std::vector<double> row;
  for (const std::vector<double> &part : parts) row.insert(row.end(), part.begin(), part.end());
  return row;
}
template <class F>
std::vector<double> of_each(const std::vector<double> &x, const F &function) {
  std::vector<double> y;
  for (const double each : x) y.push_back(function(each));
  return y;
}

// 3 rows of 4, without points where a derivative jumps.
const std::vector<double> twelve{0.3, -1.2, 2.5, 0.7, -0.4, 1.9, -2.2, 0.1, 3.1, -0.9, 0.6, -1.7};

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

TEST(TileLanguage, FunctionsOfElements) {
  expect_function(
      [](Tile<double> x) {
        const Tile<double> u = x * x + 1;
        return in_one_row(clamp(x, -1.0, 2), fma(x, u, 0.5), lerp(x, u, 0.25), smoothstep(-2.0, 3, x), sign(x) * x,
                          tile::sigmoid(x), tile::relu(x), tile::gelu(x), tile::gelu_tanh(x), tile::silu(x),
                          sincos(x).first * sincos(x).second, tile::cast<Double>(tile::cast<std::int32_t>(x) % 3) * x);
      },
      twelve,
      in_one_row({of_each(twelve, [](double x) { return std::clamp(x, -1.0, 2.0); }),
                  of_each(twelve, [](double x) { return x * (x * x + 1) + 0.5; }),
                  of_each(twelve, [](double x) { return x + (x * x + 1 - x) * 0.25; }),
                  of_each(twelve,
                          [](double x) {
                            const double t = std::clamp((x + 2) / 5, 0.0, 1.0);
                            return t * t * (3 - 2 * t);
                          }),
                  of_each(twelve, [](double x) { return std::abs(x); }), of_each(twelve, sigmoid_of),
                  of_each(twelve, [](double x) { return std::max(x, 0.0); }),
                  of_each(twelve, [](double x) { return x * 0.5 * std::erfc(-x / std::numbers::sqrt2); }),
                  of_each(twelve,
                          [](double x) {
                            return x * 0.5 *
                                   (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
                          }),
                  of_each(twelve, [](double x) { return x * sigmoid_of(x); }),
                  of_each(twelve, [](double x) { return std::sin(x) * std::cos(x); }),
                  of_each(twelve, [](double x) { return static_cast<int>(x) % 3 * x; })}));
}

TEST(TileLanguage, SigmoidHasAGradientFarFromZero) {
  auto x = buffer<float>({4}, {-200, 0, 200, -0.0}, Gradient::tracked);
  auto y = poisoned<float>({4}, Gradient::tracked);
  const auto kernel = tile_function<float>(4, [](Tile<float> t) { return tile::sigmoid(t); });
  kernel.launch({1}, y, x);
  expect_near(y, {0, 0.5, 1, 0.5}, 1e-6);
  y.gradient().copy_from(std::vector<float>(4, 1));
  kernel.launch({1}, {.direction = Direction::adjoint}, y, x);
  expect_near(x.gradient(), {0, 0.25, 0, 0.25}, 1e-6);
}

TEST(TileLanguage, IntegersAndBits) {
  TileKernel integers{"integers",
                      [](Array<std::int32_t, 2> y, Array<const std::int32_t, 1> x, Array<const float, 1> f, Int n) {
                        const Tile<std::int32_t> t = tile::load(x, {0}, {8});
                        const Tile<float> u = tile::load(f, {0}, {8});
                        Tile<std::int32_t> changed = t;
                        changed %= 5;
                        changed |= 8;
                        changed ^= t & 3;
                        changed &= ~4;
                        changed <<= 2;
                        changed >>= 1;
                        ++changed;
                        changed--;
                        const auto put = [&](int row, const Tile<std::int32_t> &value) {
                          tile::store(y, {row, 0}, tile::expand_dims(value, 0));
                        };
                        put(0, changed);
                        put(1, (t << 3) + (1 << (t & 7)) + (n >> (t & 1)));
                        put(2, popcount(t) * 10000 + clz(t) * 100 + ctz(t));
                        put(3, cast<Int>(bit_cast<std::uint32_t>(u) >> 23));
                        put(4, select(isnan(u), 1, 0) + select(isinf(u), 10, 0) + select(isfinite(u), 100, 0));
                        put(5, select(n > 3, t, -t) + select(true, 1, t * 0));
                        put(6, cast<Int>(t * 0.5 + 0.25 * t + select(t < 2.5, 0, 0) + 0.125f));
                        put(7, cast<Int>(t * u[1]) + t[2] + tile::reshape(t, {2, 4})(1, n));
                      }};
  const std::vector<std::int32_t> x{1, 7, 12, 0, 255, 100, 33, 6};
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> f{1, 2, not_written, infinity, -infinity, 0.5, -4, 0};
  Buffer<std::int32_t> y(device(), {8, 8});
  integers.launch({1}, y, Buffer<std::int32_t>(device(), {8}, x), Buffer<float>(device(), {8}, f), 3);
  std::vector<std::int32_t> expected(64);
  for (std::size_t i = 0; i < 8; ++i) {
    const std::int32_t t = x[i];
    expected[i] = (((((t % 5) | 8) ^ (t & 3)) & ~4) << 2) >> 1;
    expected[8 + i] = (t << 3) + (1 << (t & 7)) + (3 >> (t & 1));
    const auto bits = static_cast<std::uint32_t>(t);
    expected[16 + i] = std::popcount(bits) * 10000 + std::countl_zero(bits) * 100 + std::countr_zero(bits);
    expected[24 + i] = static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(f[i]) >> 23);
    expected[32 + i] = std::isnan(f[i]) ? 1 : std::isinf(f[i]) ? 10 : 100;
    expected[40 + i] = 1 - t;
    expected[48 + i] = static_cast<std::int32_t>(t * 0.75 + 0.125);
    expected[56 + i] = 2 * t + 12 + 6;
  }
  EXPECT_EQ(y.to_vector(), expected);
}

TEST(TileLanguage, FunctionsOfNumbersMakeTiles) {
  expect_function(
      [](Tile<double> t) {
        const Tile<double> x = tile::reshape(t, {3, 4});
        const Tile<double> mapped = tile::map(
            [](Double a, Double b) {
              Double y = a * b;
              if_(a > 0, [&] { y = y + sin(b); });
              return y;
            },
            x, tile::sum(x, {1}));
        const Tile<double> made = tile::generate<double>({3, 4}, [](Int i, Int j) { return cast<Double>(i * j + 1); });
        return mapped * made;
      },
      twelve,
      [] {
        std::vector<double> y;
        for (std::size_t i = 0; i < 12; ++i) {
          const double sum = std::accumulate(twelve.begin() + static_cast<std::ptrdiff_t>(i / 4 * 4),
                                             twelve.begin() + static_cast<std::ptrdiff_t>(i / 4 * 4 + 4), 0.0);
          const double one = twelve[i] * sum + (twelve[i] > 0 ? std::sin(sum) : 0);
          y.push_back(one * static_cast<double>(i / 4 * (i % 4) + 1));
        }
        return y;
      }());
}

TEST(TileLanguage, StatisticsOfRows) {
  std::vector<double> expected;
  for (std::size_t part = 0; part < 5; ++part)
    for (std::size_t i = 0; i < 3; ++i) {
      const std::vector<double> row(twelve.begin() + static_cast<std::ptrdiff_t>(4 * i),
                                    twelve.begin() + static_cast<std::ptrdiff_t>(4 * i + 4));
      const double mean = std::accumulate(row.begin(), row.end(), 0.0) / 4;
      double off = 0, squares = 0, powers = 0;
      for (const double x : row) off += (x - mean) * (x - mean), squares += x * x, powers += std::exp(x);
      if (part == 0) expected.push_back(mean);
      if (part == 1) expected.push_back(off / 3);
      if (part == 2) expected.push_back(std::sqrt(squares));
      for (const double x : row) {
        if (part == 3) expected.push_back(std::exp(x) / powers);
        if (part == 4) expected.push_back(x - std::log(powers));
      }
    }
  double mean = 0, squares = 0, off = 0;
  for (const double x : twelve) mean += x / 12, squares += x * x;
  for (const double x : twelve) off += (x - mean) * (x - mean) / 12;
  expected.insert(expected.end(), {mean + off + std::sqrt(squares)});
  expect_function(
      [](Tile<double> t) {
        const Tile<double> x = tile::reshape(t, {3, 4});
        return in_one_row(tile::mean(x, {-1}), tile::var(x, {1}, 1), tile::norm(x, {-1}), tile::softmax(x),
                          tile::log_softmax(x, {1}),
                          tile::full<double>({1}, tile::mean(x) + tile::var(x) + tile::norm(x)));
      },
      twelve, expected);
}

TEST(TileLanguage, QuestionsToTilesOfBool) {
  TileKernel ask{"ask", [](Array<std::int32_t, 1> y, Array<const float, 2> x) {
                   const Tile<bool> m = tile::load(x, {0, 0}, {3, 4}) > 0;
                   const auto number = [](const Bool &b) { return select(b, Int(1), Int(0)); };
                   y(0) = tile::count(m) + 100 * tile::sum(m);
                   y(1) = number(tile::any(m)) + 10 * number(tile::all(m)) + 100 * number(tile::any(m && !m));
                   y(2) = number(m(0, 1)) + 10 * number(m(2, 0));
                   tile::store_at(y, {3}, flat(tile::count(m, {1})));
                   tile::store_at(y, {6}, flat(tile::cast<std::int32_t>(tile::any(m, {0}))));
                   tile::store_at(y, {10}, flat(tile::cast<std::int32_t>(tile::all(m, {-2}))));
                 }};
  Buffer<std::int32_t> y(device(), {14});
  ask.launch({1}, y, buffer<float>({3, 4}, twelve));
  EXPECT_THAT(y.to_vector(), ElementsAre(707, 1, 10, 3, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0));
}

TEST(TileLanguage, Shapes) {
  const auto at = [](std::size_t i, std::size_t j) { return twelve[4 * i + j]; };
  std::vector<std::vector<double>> expected(9);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 4; ++j) {
      expected[0].push_back(at(i, 3 - j));
      expected[1].push_back(at(2 - i, j));
      expected[2].push_back(at(i, (j + 1) % 4));
      expected[3].push_back(at((i + 1) % 3, j));
    }
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 7; ++j) expected[4].push_back(i < 3 && j >= 1 && j < 5 ? at(i, j - 1) : 7);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 8; ++j) expected[5].push_back(at(i, j % 4)), expected[6].push_back(at(i, j / 2));
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 2; ++j) expected[7].insert(expected[7].end(), {at(i, j), at(i, j + 2)});
  expected[8] = {at(0, 0) + at(1, 0), at(0, 1) + at(1, 1), at(0, 2) + at(1, 2), at(0, 3) + at(1, 3)};
  expect_function(
      [](Tile<double> t) {
        const Tile<double> x{tile::reshape(t, {3, 4})};
        const std::vector<Tile<double>> halves = tile::split(x, 2, -1);
        const Tile<double> rows = tile::squeeze(tile::expand_dims(x, -1));
        return in_one_row(tile::flip(x, 1), tile::flip(x, 0), tile::roll(x, -1, 1),
                          tile::roll(x, Int(2) * (block_index() + 1), -2), tile::pad(x, {0, 1}, {1, 2}, 7.0),
                          tile::repeat(x, 2, 1), tile::repeat_interleave(x, 2, 1), tile::stack(halves, -1),
                          tile::squeeze(tile::slice(rows, {0, 0}, {1, 4}) + tile::slice(rows, {1, 0}, {1, 4}), 0));
      },
      twelve, in_one_row(expected));
}

// Welford's mean and variance; and the scan of a line's slope and offset.
TEST(TileLanguage, FunctionsOfSeveralTiles) {
  std::vector<double> expected;
  for (std::size_t i = 0; i < 3; ++i) {
    double mean = 0, off = 0;
    for (std::size_t j = 0; j < 4; ++j) mean += twelve[4 * i + j] / 4;
    for (std::size_t j = 0; j < 4; ++j) off += std::pow(twelve[4 * i + j] - mean, 2);
    expected.push_back(mean + off);
  }
  for (std::size_t j = 0; j < 4; ++j) {
    double y = 0;
    std::vector<double> column;
    for (std::size_t i = 0; i < 3; ++i) column.push_back(y = twelve[4 * i + j] * 0.5 * y + 1);
    expected.insert(expected.end(), column.begin(), column.end());
  }
  std::vector<double> products = twelve;
  for (std::size_t i = 0; i < 12; ++i)
    if (i % 4 != 0) products[i] *= products[i - 1];
  expected.insert(expected.end(), products.begin(), products.end());
  expect_function(
      [](Tile<double> t) {
        const Tile<double> x = tile::reshape(t, {3, 4});
        const auto welford = [](const auto &a, const auto &b) {
          const auto &[n, mean, off] = a;
          const auto &[m, other, more] = b;
          const Tile<double> all = n + m, apart = other - mean;
          return std::tuple{all, Tile<double>(mean + apart * m / all),
                            Tile<double>(off + more + apart * apart * n * m / all)};
        };
        const auto [n, mean, off] =
            tile::reduce(std::tuple{tile::ones<double>({3, 4}), x, tile::zeros_like(x)}, {-1}, welford);
        const auto line = [](const auto &a, const auto &b) {
          return std::tuple{Tile<double>(std::get<0>(a) * std::get<0>(b)),
                            Tile<double>(std::get<0>(b) * std::get<1>(a) + std::get<1>(b))};
        };
        const auto lines = tile::inclusive_scan(std::tuple{Tile<double>(x * 0.5), tile::full_like(x, 1)}, 0, line);
        return in_one_row(Tile<double>(mean + off), tile::permute(std::get<1>(lines), {-1, 0}),
                          tile::inclusive_scan(x, -1, [](const auto &a, const auto &b) { return a * b; }));
      },
      twelve, expected);
}

TEST(TileLanguage, GreatestOfRows) {
  expect_function([](Tile<double> t) { return tile::topk(tile::reshape(t, {3, 4}), 2).keys; }, twelve,
                  {2.5, 0.7, 1.9, 0.1, 3.1, 0.6});
  TileKernel places{"places", [](Array<std::int32_t, 2> y, Array<const float, 2> x) {
                      tile::store(y, {0, 0}, tile::topk(tile::load(x, {0, 0}, {3, 4}), 3, {}).values);
                    }};
  Buffer<std::int32_t> y(device(), {3, 3});
  places.launch({1}, y, buffer<float>({3, 4}, twelve));
  EXPECT_THAT(y.to_vector(), ElementsAre(1, 0, 3, 2, 0, 3, 3, 1, 2));
}

TEST(TileLanguage, LoadsAndStoresUnderAMask) {
  TileKernel masked{"masked", {"y", "x"}, [](Array<double, 2> y, Array<const double, 2> x) {
                      auto [i, j] = block_index<2>();
                      const Tile<std::int32_t> column = tile::coordinate({2, 4}, 1);
                      const Tile<double> t = tile::load(x, {i, j}, {2, 4}, column != 2, -1.5);
                      const Tile<double> around = tile::load_at(x, {i * 2, j * 4}, {2, 4}, 0.5);
                      tile::store(y, {i, j}, t * t + around * 0.5 + tile::load(x, {i, j}, {2, 4}, 0.5) * 0.5,
                                  column > 0);
                    }};
  auto x = buffer<double>({3, 5}, numbers(15), Gradient::tracked);
  auto y = poisoned<double>({4, 8}, Gradient::tracked);
  masked.launch({2, 2}, y, x);
  const std::vector<double> values = numbers(15), result = y.to_vector();
  for (std::size_t r = 0; r < 4; ++r)
    for (std::size_t c = 0; c < 8; ++c) {
      SCOPED_TRACE(std::to_string(r) + ", " + std::to_string(c));
      const bool inside = r < 3 && c < 5;
      const double loaded = inside && c % 4 != 2 ? values[5 * r + c] : -1.5;
      if (c % 4 == 0)
        EXPECT_TRUE(std::isnan(result[8 * r + c]));
      else
        EXPECT_DOUBLE_EQ(result[8 * r + c], loaded * loaded + (inside ? values[5 * r + c] : 0.5));
    }
  auto written = buffer<double>({4, 8}, std::vector<double>(32), Gradient::tracked);
  const GradientReport report = gradcheck(masked, {2, 2}, written, x);
  EXPECT_TRUE(report.passed) << report;
}

TEST(TileLanguage, ElementsAndRowsAtTilesOfIndices) {
  TileKernel move{
      "move",
      {"y", "z", "x", "chosen"},
      [](Array<double, 3> y, Array<double, 2> z, Array<const double, 2> x, Array<const std::int32_t, 1> chosen) {
        const Tile<std::int32_t> rows = tile::load(chosen, {0}, {4});
        const Tile<double> whole = tile::gather_rows(x, rows, {0}, {3});  // 4 x 3
        const Tile<std::int32_t> across = tile::coordinate({4, 3}, 1);
        const Tile<double> turned = tile::gather(x, {tile::expand_dims(rows, 1), 2 - across});
        tile::scatter(y, {1, tile::coordinate({4, 3}, 0), across}, whole * turned);
        tile::scatter_rows(y, tile::arange(1), {0, 0},
                           tile::expand_dims(Tile<double>(turned + tile::gather(x, {1, across}, across > 0, 2.5)), 0));
        tile::scatter_add_rows(z, rows, {0}, whole * whole);
        tile::scatter_add(z, {rows, 3}, tile::load(x, {0, 1}, {4, 1})(2, 0) * tile::full<double>({4}, 1));
      }};
  const std::vector<std::int32_t> chosen{2, 0, 7, 2};
  const std::vector<double> x = numbers(9);
  auto input = buffer<double>({3, 3}, x, Gradient::tracked);
  auto y = buffer<double>({2, 4, 3}, std::vector<double>(24, 5), Gradient::tracked);
  auto z = buffer<double>({3, 4}, std::vector<double>(12), Gradient::tracked);
  const Buffer<std::int32_t> rows(device(), {4}, chosen);
  move.launch({1}, y, z, input, rows);
  std::vector<double> of_y(24), of_z(12);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      const auto row = static_cast<std::size_t>(chosen[i]);
      const auto element = [&](std::size_t r, std::size_t c) { return r < 3 ? x[3 * r + c] : 0; };
      of_y[12 + 3 * i + j] = element(row, j) * element(row, 2 - j);
      of_y[3 * i + j] = element(row, 2 - j) + (j > 0 ? element(1, j) : 2.5);
      if (row >= 3) continue;
      of_z[4 * row + j] += element(row, j) * element(row, j);
      if (j == 0) of_z[4 * row + 3] += x[7];
    }
  expect_near(y, of_y, 1e-12);
  expect_near(z, of_z, 1e-12);
  auto again = buffer<double>({3, 4}, std::vector<double>(12), Gradient::tracked);
  const GradientReport report = gradcheck(move, {1}, y, again, input, rows);
  EXPECT_TRUE(report.passed) << report;
}

TEST(TileLanguage, AtomicStepsWithTheElementsBefore) {
  TileKernel step{
      "step", [](Array<std::int32_t, 2> y, Array<std::int32_t, 2> old, Array<const std::int32_t, 1> places) {
        const Tile<std::int32_t> at = tile::load(places, {0}, {6});
        const auto keep = [&](int row, const Tile<std::int32_t> &before) {
          tile::store(old, {row, 0}, tile::expand_dims(before, 0));
        };
        keep(0, tile::atomic_add(y, {0, at}, 1));
        keep(1, tile::atomic_max(y, {1, at}, tile::arange(6) * 10));
        keep(2, tile::atomic_exchange(y, {2, 0}, tile::arange(6)));
        keep(3, tile::atomic_min(y, {3, 0}, tile::arange(6) - 3));
        keep(4, tile::atomic_or(y, {4, 0}, tile::arange(6)));
        tile::atomic_add(y, {5, 0}, tile::arange(6));
        tile::atomic_add(y, {5, at}, 100, tile::arange(6) < 1);
        tile::store(old, {5, 0}, tile::expand_dims(tile::atomic_compare_exchange(y, {tile::arange(6), 3}, 1, -7), 0));
      }};
  Buffer<std::int32_t> y(device(), {6, 6}, std::vector<std::int32_t>(36, 1)), old(device(), {6, 6});
  step.launch({1}, y, old, Buffer<std::int32_t>(device(), {6}, {4, 2, 4, 9, 0, 4}));
  const std::vector<std::int32_t> now = y.to_vector();
  std::vector<std::int32_t> before = old.to_vector();
  EXPECT_THAT(std::vector(now.begin(), now.begin() + 6), ElementsAre(2, 1, 2, -7, 4, 1));
  EXPECT_THAT(std::vector(now.begin() + 6, now.begin() + 12), ElementsAre(40, 1, 10, -7, 50, 1));
  EXPECT_THAT(std::vector(now.begin() + 12, now.begin() + 18), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(std::vector(now.begin() + 18, now.begin() + 24), ElementsAre(-3, -2, -1, 0, 1, 1));
  EXPECT_THAT(std::vector(now.begin() + 24, now.begin() + 30), ElementsAre(1, 1, 3, 3, 5, 5));
  EXPECT_THAT(std::vector(now.begin() + 30, now.end()), ElementsAre(1, 2, 3, 4, 105, 6));
  // Three of them met at element 4, in any order.
  std::vector<std::int32_t> met{before[0], before[2], before[5]};
  std::ranges::sort(met);
  EXPECT_THAT(met, ElementsAre(1, 2, 3));
  EXPECT_THAT(std::vector(before.begin() + 12, before.begin() + 18), testing::Each(1));
  EXPECT_EQ(before[3], 0);  // outside
  EXPECT_THAT(std::vector(before.begin() + 30, before.end()), ElementsAre(1, 1, 3, 0, 3, 4));
}

// Every other row of the transpose; and all rows to one, which they all add to.
TEST(TileLanguage, AtomicStepsThroughViews) {
  TileKernel step{"step",
                  {"y", "sums", "old", "x"},
                  [](Array<double, 2> y, Array<double, 2> sums, Array<double, 2> old, Array<const double, 2> x) {
                    const Tile<double> t = tile::load(x, {0, 0}, {2, 3});
                    tile::store(old, {0, 0}, tile::atomic_max(y, {0, 1}, t, {.steps = {2, 2}, .order = {1, 0}}));
                    tile::atomic_add(sums, {0, 1}, t, {.steps = {0, 1}});
                  }};
  const auto y = buffer<double>({6, 4}, std::vector<double>(24, 3.5)), old = poisoned<double>({2, 3});
  const auto sums = buffer<double>({1, 3}, {1, 1, 1}, Gradient::tracked),
             x = buffer<double>({2, 3}, {1, 2, 3, 4, 5, 6}, Gradient::tracked);
  step.launch({1}, y, sums, old, x);
  std::vector<double> of_y(24, 3.5);
  of_y[3] = 4, of_y[2 * 4 + 3] = 5, of_y[4 * 4 + 3] = 6;  // of row 1 of x, in column 1 + 2
  expect_near(y, of_y, 0);
  expect_near(old, std::vector<double>(6, 3.5), 0);
  expect_near(sums, {1, 6, 8}, 0);  // elements outside are skipped
  sums.gradient().fill(2);
  step.launch({1}, {.direction = Direction::adjoint}, y, sums, old, x);
  expect_near(x.gradient(), {2, 2, 0, 2, 2, 0}, 0);
}

// Small numbers, which every type holds: the sums are exact.
template <class A, class B>
void check_factors_of_two_types() {
  using C = std::conditional_t<std::integral<A>, std::int32_t, float>;
  TileKernel multiply{"multiply", [](Array<C, 2> y, Array<const A, 2> a, Array<const B, 2> b) {
                        const Tile<A> left = tile::load(a, {0, 0}, {4, 8});
                        const Tile<B> right = tile::load(b, {0, 0}, {6, 8});
                        Tile<C> sum = tile::matmul(left, right, {.b = true});
                        tile::matmul(left, right, sum, {.b = true});
                        tile::store(y, {0, 0}, sum);
                      }};
  const auto small = [](int count, int least) {
    std::vector<double> values;
    for (int i = 0; i < count; ++i) values.push_back(i * 5 % 7 + least);
    return values;
  };
  const std::vector<double> a = small(32, std::unsigned_integral<A> ? 0 : -3),
                            b = small(48, std::unsigned_integral<B> ? 0 : -2);
  const auto y = poisoned<C>({4, 6});
  multiply.launch({1}, y, Buffer<A>(device(), {4, 8}, as<A>(a)), Buffer<B>(device(), {6, 8}, as<B>(b)));
  std::vector<double> expected;
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 6; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < 8; ++k) sum += 2 * a[8 * i + k] * b[8 * j + k];
      expected.push_back(sum);
    }
  expect_near(y, expected, 0);
}

TEST(TileLanguage, FactorsOfTwoTypes) {
  check_factors_of_two_types<f8e4m3, f8e5m2>();
  check_factors_of_two_types<std::uint8_t, std::int8_t>();
  check_factors_of_two_types<bfloat16, float>();
  check_factors_of_two_types<half, std::int8_t>();
  check_factors_of_two_types<half, bfloat16>();
}

TEST(TileLanguage, Control) {
  TileKernel control{"control", {"y", "x", "last"}, [](Array<double, 1> y, Array<const double, 1> x, Int last) {
                       if_(block_index() > last, [&] { return_(); });
                       Tile<double> t = tile::load(x, {block_index()}, {4});
                       for (Int k : range(1, 8, 3, pipelined(2))) t += tile::load(x, {k % 2}, {4}) * cast<Double>(k);
                       for (Int k : range(6, 0, -2, unrolled())) t = t * 0.5 + cast<Double>(k);
                       while_([&] { return tile::max(t) > 2; }, [&] { t = t * 0.5; });
                       tile::store(y, {block_index()}, t);
                     }};
  const std::vector<double> x = numbers(8);
  auto input = buffer<double>({8}, x, Gradient::tracked);
  auto y = buffer<double>({12}, std::vector<double>(12, 9), Gradient::tracked);
  control.launch({3}, y, input, 1);
  std::vector<double> expected(12, 9);
  for (std::size_t b = 0; b < 2; ++b) {
    std::vector<double> t(4);
    for (std::size_t i = 0; i < 4; ++i) {
      t[i] = x[4 * b + i] + 1 * x[4 + i] + 4 * x[i] + 7 * x[4 + i];
      for (const double k : {6, 4, 2}) t[i] = t[i] * 0.5 + k;
    }
    while (*std::ranges::max_element(t) > 2)
      for (double &each : t) each *= 0.5;
    std::ranges::copy(t, expected.begin() + static_cast<std::ptrdiff_t>(4 * b));
  }
  expect_near(y, expected, 1e-12);
  const GradientReport report = gradcheck(control, {3}, y, input, 1);
  EXPECT_TRUE(report.passed) << report;
}

TEST(TileLanguage, TilesInMessages) {
  TileKernel show{"show", [](Array<const float, 2> x) {
                    const Tile<float> t = tile::load(x, {0, 0}, {2, 18});
                    print("x = ", t);
                    print(tile::slice(t, {0, 0}, {1, 2}) > 0);
                  }};
  std::vector<std::string> lines;
  set_print_sink([&](std::string_view line) { lines.emplace_back(line); });
  std::vector<double> x(36);
  std::iota(x.begin(), x.end(), 0.0);
  const Buffer<float> values = buffer<float>({2, 18}, x);
  show.launch({1}, values);
  values.device().synchronize();  // delivers a GPU's printed lines
  set_print_sink({});
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_THAT(lines[0], HasSubstr("x = [0, 0..15] 0, 1, 2, 3"));
  EXPECT_THAT(lines[1], HasSubstr("x = [0, 16..17] 16, 17"));
  EXPECT_THAT(lines[3], HasSubstr("x = [1, 16..17] 34, 35"));
  EXPECT_THAT(lines[4], HasSubstr("[0, 0..1] false, true"));
  TileKernel checked{"checked", [](Array<const float, 2> x) {
                       const Tile<float> t = tile::load(x, {0, 0}, {2, 18});
                       check(t < 20, "x is too large: ", t);
                       check(isfinite(t));
                     }};
  const std::string message = message_of<UserError>([&] {
    checked.launch({1}, values);
    values.device().synchronize();
  });
  EXPECT_THAT(message, HasSubstr("x is too large: 20 at [1, 2]"));
}

TEST(TileLanguage, RandomNumbersOfElements) {
  // However the array is cut, an element's number is the same.
  const auto drop = [](std::int64_t width) {
    return TileKernel{"drop", {"y", "x"}, [=](Array<double, 2> y, Array<const double, 2> x) {
                        const Tile<std::int64_t> number = tile::generate<std::int64_t>({4, width}, [&](auto i, auto j) {
                          return cast<Int64>(i * 12 + j + block_index() * static_cast<int>(width));
                        });
                        const Tile<double> t = tile::load(x, {0, block_index()}, {4, width});
                        tile::store(y, {0, block_index()}, tile::dropout(t, 0.25f, 7, number));
                      }};
  };
  auto x = buffer<double>({4, 12}, numbers(48), Gradient::tracked);
  auto whole = poisoned<double>({4, 12}, Gradient::tracked), parts = poisoned<double>({4, 12});
  drop(12).launch({1}, whole, x);
  drop(3).launch({4}, parts, x);
  EXPECT_EQ(whole.to_vector(), parts.to_vector());
  std::int64_t zeros = 0;
  const std::vector<double> before = numbers(48), after = whole.to_vector();
  for (std::size_t i = 0; i < 48; ++i) {
    zeros += after[i] == 0;
    EXPECT_TRUE(after[i] == 0 || std::abs(after[i] - before[i] / 0.75) < 1e-6) << i;
  }
  EXPECT_TRUE(zeros > 4 && zeros < 24) << zeros;
  const GradientReport report = gradcheck(drop(12), {1}, whole, x);
  EXPECT_TRUE(report.passed) << report;
}

// The facts of each message.
TEST(TileLanguage, Errors) {
  const auto message = [](auto function) {
    return message_of<UserError>([&] {
      TileKernel kernel{
          "kernel", [&](Array<float, 2> y, Array<const float, 2> x) { function(y, x, tile::load(x, {0, 0}, {3, 4})); }};
    });
  };
  EXPECT_THAT(message([](auto, auto, auto t) { tile::sum(t, {-3}); }),
              HasSubstr("along dimension -3 of a tile of extents 3x4; dimensions are 0 to 1, or from the last one"));
  EXPECT_THAT(message([](auto, auto, auto t) { Float x = t[1]; }), HasSubstr("1 indices of a tile of extents 3x4"));
  EXPECT_THAT(message([](auto, auto, auto t) { tile::squeeze(t, 0); }), HasSubstr("it has extent 1"));
  EXPECT_THAT(message([](auto, auto, auto t) { tile::expand_dims(t, 3); }), HasSubstr("the new one is 0 to 2"));
  EXPECT_THAT(message([](auto, auto, auto t) { tile::split(t, 3, 1); }), HasSubstr("parts are equal"));
  EXPECT_THAT(message([](auto, auto, auto t) { tile::pad(t, {1}, {1}); }), HasSubstr("one of each for each dimension"));
  EXPECT_THAT(message([](auto, auto, auto t) { tile::pad(t, {1, -1}, {1, 0}); }), HasSubstr("none of them negative"));
  EXPECT_THAT(message([](auto, auto, auto t) { tile::repeat(t, 0, 0); }), HasSubstr("at least once"));
  EXPECT_THAT(message([](auto, auto, auto t) { tile::stack(t, tile::transpose(t)); }),
              HasSubstr("a stack of tiles of extents 3x4 and 4x3"));
  EXPECT_THAT(message([](auto, auto, auto t) { tile::topk(t, 5); }), HasSubstr("there are 1 to 4"));
  EXPECT_THAT(message([](auto, auto x, auto) { tile::gather(x, {tile::arange(3)}); }),
              HasSubstr("1 indices of elements of an array of rank 2"));
  EXPECT_THAT(message([](auto y, auto, auto t) { tile::scatter(y, {tile::arange(3), 0}, t); }),
              HasSubstr("do not fit each other"));
  EXPECT_THAT(message([](auto, auto x, auto) { tile::gather_rows(x, tile::coordinate({2, 2}, 0), {0}, {4}); }),
              HasSubstr("the tile has one dimension"));
  EXPECT_THAT(message([](auto, auto, auto t) { print("x", t, t); }), HasSubstr("two tiles in one message"));
  EXPECT_THAT(message([](auto, auto, auto t) { check(t > 0, tile::transpose(t)); }), HasSubstr("equal extents"));
  EXPECT_THAT(message([](auto, auto, auto t) {
                const auto first = [](const auto &a, const auto &) { return a; };
                tile::reduce(std::tuple{t, tile::transpose(t)}, {0}, first);
              }),
              HasSubstr("are combined; all have the same"));
  EXPECT_THAT(message([](auto, auto, auto) {
                for (Int k : range(5000, unrolled())) Int i = k;
              }),
              HasSubstr("an unrolled range of 5000 iterations"));
}

}  // namespace
}  // namespace samite::test
