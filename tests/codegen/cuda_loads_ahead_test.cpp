// Loops that load tiles ahead, with their windows in any order, run on the host and compared with loads one by one.
#include "samite/samite.h"
#include "tests/codegen/cuda_on_host.h"

#include <fmt/format.h>
#include <limits>
#include <random>

namespace samite::test {
namespace {

struct Loop {
  std::int64_t height, width;  // of the tiles
  std::int64_t rows, columns;  // of the array
  int begin = 0, end = 5, threads = 64, stages = 3;
  std::int64_t between = 0, before = 0;  // foreign elements after each row and before the first
  std::int64_t stride() const { return columns + between; }
};

std::vector<float> random_floats(std::int64_t count) {
  std::mt19937 engine(7);
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(std::uniform_real_distribution<float>(-1, 1)(engine));
  return values;
}

// The sum of T Tᵀ over the tiles T that `place`, of the loop's index, names. `in_order`: they are equally spaced.
// `known`: the compiler is told that rows begin at multiples of 16 bytes.
template <class Place>
void expect_sum(const Loop &loop, bool in_order, const Place &place, bool known = false) {
  const TileKernel kernel{"sum",
                          [=](Array<const float, 2> a, Array<float, 2> c) {
                            Tile<float> sum = tile::zeros<float>({loop.height, loop.height});
                            for (Int k : range(loop.begin, loop.end, pipelined(loop.stages))) {
                              const auto [i, j] = place(k);
                              const Tile<float> t = tile::load(a, {i, j}, {loop.height, loop.width});
                              tile::matmul(t, t, sum, {.b = true});
                            }
                            tile::store(c, {0, 0}, sum);
                          },
                          TileOptions{.threads = loop.threads}};
  auto a = random_floats(loop.before + loop.rows * loop.stride());
  for (std::int64_t e = 0; e < std::ssize(a); ++e)
    if (e < loop.before || (e - loop.before) % loop.stride() >= loop.columns)
      a[static_cast<std::size_t>(e)] = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> c(static_cast<std::size_t>(loop.height * loop.height));
  codegen::EmitOptions options = cuda_options();
  options.arrays.at(0).aligned_rows = known;
  const CudaOnHost run(kernel.ir(), options);
  EXPECT_EQ(run.source().text.find("tile_loads<") != std::string::npos, in_order);
  EXPECT_EQ(run.source().text.find(fmt::format("{}, true>(a", loop.threads)) != std::string::npos, known);
  run.run({1}, {strided(a.data() + loop.before, {loop.rows, loop.columns}, {loop.stride(), 1}),
                array(c, {loop.height, loop.height})});

  const auto element = [&](std::int64_t i, std::int64_t j) {
    const bool inside = i >= 0 && i < loop.rows && j >= 0 && j < loop.columns;
    return inside ? double(a[static_cast<std::size_t>(loop.before + i * loop.stride() + j)]) : 0.0;
  };
  for (std::int64_t i = 0; i < loop.height; ++i)
    for (std::int64_t j = 0; j < loop.height; ++j) {
      double sum = 0;
      for (int k = loop.begin; k < loop.end; ++k) {
        const auto [row, column] = place(k);
        for (std::int64_t t = 0; t < loop.width; ++t)
          sum += element(row * loop.height + i, column * loop.width + t) *
                 element(row * loop.height + j, column * loop.width + t);
      }
      ASSERT_NEAR(c[static_cast<std::size_t>(i * loop.height + j)], sum, 1e-4) << i << ' ' << j;
    }
  if (!known && loop.stride() % 4 == 0 && loop.before % 4 == 0) expect_sum(loop, in_order, place, true);
}

// Arrays of whole tiles, of rows in whole units with a rest, and of other rows.
template <class Place>
void expect_sums_of_tiles(bool in_order, const Place &place) {
  for (const Loop &loop :
       {Loop{16, 16, 80, 80}, Loop{16, 16, 75, 68}, Loop{16, 16, 75, 67}, Loop{16, 32, 80, 160, 2}}) {
    SCOPED_TRACE(::testing::Message() << loop.rows << " x " << loop.columns << " from " << loop.begin);
    expect_sum(loop, in_order, place);
  }
}

TEST(CudaLoadsAhead, DownTheColumns) {
  expect_sums_of_tiles(true, [](auto k) { return std::pair(k, decltype(k)(1)); });
}
TEST(CudaLoadsAhead, AlongTheRows) {
  expect_sums_of_tiles(true, [](auto k) { return std::pair(decltype(k)(1), k); });
}
TEST(CudaLoadsAhead, Diagonally) {
  expect_sums_of_tiles(true, [](auto k) { return std::pair(k, k); });
}
TEST(CudaLoadsAhead, Backwards) {
  expect_sums_of_tiles(true, [](auto k) { return std::pair(4 - k, 2 * (1 - k) + 5); });
}
TEST(CudaLoadsAhead, FromOutside) {
  expect_sums_of_tiles(true, [](auto k) { return std::pair(2 * k - 3, decltype(k)(0)); });
}
TEST(CudaLoadsAhead, OneWindowAllTheTime) {
  expect_sums_of_tiles(true, [](auto k) { return std::pair(decltype(k)(2), k - k); });
}
TEST(CudaLoadsAhead, AtGrowingDistances) {
  expect_sums_of_tiles(false, [](auto k) { return std::pair(k * k, decltype(k)(0)); });
}
TEST(CudaLoadsAhead, ByTurns) {
  expect_sums_of_tiles(false, [](auto k) { return std::pair(k % 3, k / 2); });
}

// Units that the threads do not share evenly.
TEST(CudaLoadsAhead, AnyNumberOfThreads) {
  for (const int threads : {32, 96, 160})
    for (const int stages : {2, 3})
      for (const std::int64_t width : {4, 20, 32}) {
        SCOPED_TRACE(::testing::Message() << threads << " threads, " << width);
        expect_sum({24, width, 5 * 24, 2 * width, 0, 5, threads, stages}, true,
                   [](auto k) { return std::pair(k, decltype(k)(1)); });
      }
}

// Rows that begin with a unit and end within one, rows that also begin within one, and rows that begin anywhere.
TEST(CudaLoadsAhead, OfRowsThatLieApart) {
  for (const auto &[between, before] : {std::pair(4, 0), std::pair(4, 4), std::pair(4, 1), std::pair(5, 0)})
    for (const std::int64_t columns : {66, 67, 12}) {
      SCOPED_TRACE(::testing::Message() << columns << " columns, " << between << " after, " << before << " before");
      expect_sum({16, 16, 75, columns, 0, 5, 64, 3, between + 68 - columns, before}, true,
                 [](auto k) { return std::pair(decltype(k)(4), k); });
    }
}

// The matrices of a batch: the windows are one, the array's first index moves.
TEST(CudaLoadsAhead, OfABatch) {
  const TileKernel kernel{"batch",
                          [](Array<const float, 3> a, Array<float, 2> c) {
                            Tile<float> sum = tile::zeros<float>({8, 8});
                            for (Int k : range(4, pipelined(3))) {
                              const Tile<float> t = tile::load(a, {k, 0, 0}, {8, 8});
                              tile::matmul(t, t, sum, {.b = true});
                            }
                            tile::store(c, {0, 0}, sum);
                          },
                          TileOptions{.threads = 32}};
  const auto a = random_floats(3 * 8 * 8);  // one less than requested
  std::vector<float> c(64);
  CudaOnHost(kernel.ir()).run({1}, {array(a, {3, 8, 8}), array(c, {8, 8})});
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t j = 0; j < 8; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < 24; ++k)
        sum += double(a[k / 8 * 64 + i * 8 + k % 8]) * double(a[k / 8 * 64 + j * 8 + k % 8]);
      ASSERT_NEAR(c[i * 8 + j], sum, 1e-4) << i << ' ' << j;
    }
}

}  // namespace
}  // namespace samite::test
