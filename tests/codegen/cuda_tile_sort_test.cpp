// Sorting and Fourier transforms, as CUDA runs them and as the CPU does.
#include "samite/jit/definition.h"
#include "tests/codegen/cuda_tile_kernel.h"

namespace samite::test {
namespace {

using In = Array<const double, 2>;
using Out = Array<double, 2>;

TEST(CudaTileSort, RowsOfAllLengths) {
  const auto sorted = [](std::int64_t rows, std::int64_t columns, bool descending) {
    return from_tile([=](Tile<double> x) {
      auto t = tile::reshape(x, {rows, columns});
      auto [keys, values] = tile::sort(floor(4 * t), t, {descending});
      return tile::reshape(keys * 2 + values, {12, 17});
    });
  };
  for (const bool descending : {false, true}) {
    expect_same(sorted(12, 17, descending), {1});
    expect_same(sorted(1, 204, descending), {1});
    expect_same(sorted(102, 2, descending), {1});
    expect_same(sorted(204, 1, descending), {1});
  }
}

TEST(CudaTileSort, TakeAndItsGradient) {
  expect_same(from_tile([](Tile<double> x) {
                auto places = tile::coordinate({12, 17}, 1) * 5 % 13 - tile::coordinate({12, 17}, 0) % 3;
                return tile::take(x * x, places);
              }),
              {1});
}

TEST(CudaTileFourier, LengthsOfAllKinds) {
  const auto spectrum = [](std::int64_t rows, std::int64_t n, bool inverse) {
    return from_tile([=](Tile<double> x) {
      auto some = tile::reshape(tile::slice(tile::reshape(x, {204}), {0}, {2 * rows * n}), {rows, n, 2});
      auto y = tile::reshape(inverse ? tile::ifft(some) : tile::fft(some), {2 * rows * n});
      return tile::reshape(tile::slice(y, {0}, {204}), {12, 17});
    });
  };
  for (const bool inverse : {false, true})
    for (const std::int64_t n : {1, 2, 8, 13, 22, 64, 90, 100}) expect_same(spectrum(n < 30 ? 3 : 1, n, inverse), {1});
}

class CudaTileSortCompile : public CudaCompilerTest {};

TEST_F(CudaTileSortCompile, TypesAndArchitectures) {
  auto sort = [&](auto zero) {
    using T = decltype(zero);
    TileKernel kernel{"sort", [](Array<const T, 2> a, Array<T, 2> b) {
                        auto t = tile::load(a, {block_index(), 0}, {16, 48});
                        tile::store(b, {block_index(), 0}, tile::sort(t, {.descending = true}));
                      }};
    expect_compiles(kernel.ir(), true);
    if constexpr (FloatingScalar<T>) expect_compiles(kernel.definition()->adjoint(3, false).kernel, true);
  };
  sort(float{}), sort(double{}), sort(half{}), sort(bfloat16{}), sort(std::int8_t{}), sort(std::int64_t{});
  auto transform = [&](auto zero) {
    using T = decltype(zero);
    TileKernel kernel{"transform", [](Array<const T, 3> a, Array<T, 3> b) {
                        auto t = tile::load(a, {block_index(), 0, 0}, {2, 660, 2});
                        tile::store(b, {block_index(), 0, 0}, tile::fft(t));
                      }};
    expect_compiles(kernel.ir(), true);
    expect_compiles(kernel.definition()->adjoint(3, false).kernel, true);
  };
  transform(float{}), transform(double{});
}

}  // namespace
}  // namespace samite::test
