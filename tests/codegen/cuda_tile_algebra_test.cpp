// Scans, factors and solutions, as CUDA runs them and as the CPU does.
#include "samite/jit/definition.h"
#include "tests/codegen/cuda_tile_kernel.h"

namespace samite::test {
namespace {

using In = Array<const double, 2>;
using Out = Array<double, 2>;
using tile::Combine;

TEST(CudaTileScans, AlongEachDimension) {
  for (const Combine combine : {Combine::sum, Combine::product, Combine::min, Combine::max})
    for (const int dimension : {0, 1})
      expect_same(from_tile([=](Tile<double> x) {
                    return tile::inclusive_scan(x, dimension, {combine, dimension == 0}) +
                           max(min(tile::exclusive_scan(x, dimension, {combine, dimension == 1}), 1e6), -1e6);
                  }),
                  {1});
}

// A thread for each line, a warp, and several warps.
TEST(CudaTileScans, OfLinesOfAllLengths) {
  const auto in_extents = [](std::int64_t a, std::int64_t b, std::int64_t c, bool exclusive) {
    return from_tile([=](Tile<double> x) {
      auto t = tile::reshape(x, {a, b, c});
      return tile::reshape(exclusive ? tile::exclusive_scan(t, 1) : tile::inclusive_scan(t, 1), {12, 17});
    });
  };
  for (const bool exclusive : {false, true}) {
    expect_same(in_extents(1, 204, 1, exclusive), {1});
    expect_same(in_extents(2, 34, 3, exclusive), {1});
    expect_same(in_extents(1, 12, 17, exclusive), {1});
    expect_same(in_extents(3, 68, 1, exclusive), {1});
    expect_same(in_extents(204, 1, 1, exclusive), {1});
  }
}

// Longer than four elements for each thread: all warps scan a line together. One ends within a warp's part.
TEST(CudaTileScans, OfLongLines) {
  const auto in_lines = [](std::int64_t lines, std::int64_t extent, bool exclusive, bool backwards) {
    return from_tile([=](Tile<double> x) {
      const Tile<double> once = tile::reshape(x, {204});
      const Tile<double> all = tile::concatenate(
          tile::concatenate(tile::concatenate(once, once + 1, 0), tile::concatenate(0.5 * once, once - 2, 0), 0),
          tile::concatenate(once, 2 * once, 0), 0);
      const Tile<double> t = tile::reshape(tile::slice(all, {0}, {lines * extent}), {lines, extent});
      const tile::ScanOptions options{.backwards = backwards};
      const Tile<double> y = exclusive ? tile::exclusive_scan(t, 1, options) : tile::inclusive_scan(t, 1, options);
      return tile::reshape(tile::slice(tile::reshape(y, {lines * extent}), {lines * extent - 204}, {204}), {12, 17});
    });
  };
  for (const bool exclusive : {false, true})
    for (const bool backwards : {false, true}) {
      expect_same(in_lines(1, 1224, exclusive, backwards), {1});
      expect_same(in_lines(1, 513, exclusive, backwards), {1});
      expect_same(in_lines(2, 601, exclusive, backwards), {1});
    }
}

// Counted keys, by several warps, and histograms.
TEST(CudaTileSort, KeysOfFewBits) {
  expect_same(from_tile([](Tile<double> x) {
                const Tile<std::int32_t> keys = tile::coordinate({3, 68}, 1) * 37 % 19 + tile::coordinate({3, 68}, 0);
                const Tile<std::int32_t> order = tile::argsort(keys, {.bits = 5});
                const Tile<double> moved = tile::take(tile::reshape(x, {3, 68}), order);
                const Tile<std::int32_t> counts = tile::histogram(keys, 7);
                return tile::reshape(moved + cast<Double>(tile::sum(counts)), {12, 17});
              }),
              {1});
}

TEST(CudaTileScans, LinearRecurrence) {
  for (const bool backwards : {false, true}) {
    expect_same(from_tile([=](Tile<double> x) { return tile::linear_recurrence(x, x + 1, 0, backwards); }), {1});
    expect_same(from_tile([=](Tile<double> x) {
                  auto t = tile::reshape(x, {204});
                  return tile::reshape(tile::linear_recurrence(t, t + 1, 0, backwards), {12, 17});
                }),
                {1});
  }
}

template <class T>
Tile<T> definite(const Tile<T> &x) {
  return tile::matmul(x, x, {.b = true}) +
         20 * tile::cast<T>(tile::coordinate({12, 12}, 0) == tile::coordinate({12, 12}, 1));
}

TEST(CudaTileAlgebra, SymmetricSystem) {
  expect_same(from_tile([](Tile<double> x) { return tile::solve_cholesky(tile::cholesky(definite(x)), x); }), {1});
}

// As many columns as threads, and fewer; several matrices at once.
TEST(CudaTileAlgebra, TriangularSystems) {
  for (const bool upper : {false, true})
    for (const bool transposed : {false, true}) {
      expect_same(from_tile([=](Tile<double> x) {
                    auto a = tile::reshape(tile::slice(definite(x), {0, 0}, {6, 6}), {6, 6});
                    auto b = tile::reshape(tile::slice(x, {0, 0}, {12, 16}), {6, 32});
                    auto wide = tile::concatenate(b, tile::concatenate(2 * b, b * b, 1), 1);
                    auto solved = tile::solve_triangular(a, wide, {upper, transposed});
                    return tile::reshape(tile::slice(solved, {0, 0}, {6, 34}), {12, 17});
                  }),
                  {1});
      expect_same(from_tile([=](Tile<double> x) {
                    auto a = tile::reshape(tile::slice(definite(x), {0, 0}, {12, 3}), {4, 3, 3}) +
                             4 * tile::cast<double>(tile::coordinate({4, 3, 3}, 1) == tile::coordinate({4, 3, 3}, 2));
                    auto b = tile::reshape(x, {4, 3, 17});
                    return tile::reshape(tile::solve_triangular(a, b, {upper, transposed}), {12, 17});
                  }),
                  {1});
    }
}

TEST(CudaTileAlgebra, ManyFactors) {
  expect_same(from_tile([](Tile<double> x) {
                auto part = tile::reshape(tile::slice(x, {0, 0}, {12, 3}), {4, 3, 3});
                auto a = tile::matmul(part, part, {.b = true}) +
                         4 * tile::cast<double>(tile::coordinate({4, 3, 3}, 1) == tile::coordinate({4, 3, 3}, 2));
                return tile::slice(tile::reshape(tile::cholesky(a), {12, 3}), {0, 0}, {12, 17});
              }),
              {1});
}

class CudaTileAlgebraCompile : public CudaCompilerTest {};

TEST_F(CudaTileAlgebraCompile, TypesAndArchitectures) {
  auto scans = [&](auto zero) {
    using T = decltype(zero);
    TileKernel kernel{"scans", [](Array<const T, 2> a, Array<T, 2> b) {
                        auto t = tile::load(a, {block_index(), 0}, {16, 48});
                        auto sums = tile::inclusive_scan(t, 1) + tile::exclusive_scan(t, 0, {.combine = Combine::max});
                        tile::store(b, {block_index(), 0}, tile::linear_recurrence(t, sums, 1, true));
                      }};
    expect_compiles(kernel.ir());
    if constexpr (sizeof(T) < 8 && FloatingScalar<T>) expect_compiles(kernel.definition()->adjoint(3, false).kernel);
  };
  scans(float{}), scans(double{}), scans(half{}), scans(std::int8_t{});
  auto systems = [&](auto zero) {
    using T = decltype(zero);
    TileKernel kernel{"systems", [](Array<const T, 2> a, Array<T, 2> b) {
                        auto t = tile::load(a, {block_index(), 0}, {12, 17});
                        tile::store(b, {block_index(), 0}, tile::solve_cholesky(tile::cholesky(definite(t)), t));
                      }};
    expect_compiles(kernel.ir());
    expect_compiles(kernel.definition()->adjoint(3, false).kernel);
  };
  systems(float{}), systems(double{});
}

}  // namespace
}  // namespace samite::test
