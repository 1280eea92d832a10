// Tiles that begin beyond 2^31 elements, as CUDA's kernels run on the host.
#include "tests/codegen/cuda_on_host.h"

#include "samite/jit/definition.h"
#include "samite/passes/tiles/widen_tile_origins.h"
#include "samite/samite.h"

#include <gtest/gtest.h>

namespace samite::test {
namespace {

constexpr long long extent = 1LL << 33;

// All elements of `y` and `x` from a multiple of 64 on lie at the same 64 places; `number` is the tile's.
template <class K>
std::vector<float> run_wide(const K &kernel, int number) {
  std::vector<float> x(64), y(64);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1);
  ir::Kernel wide = passes::widen_tile_origins(kernel.definition()->forward(), {true, true, false});
  const CudaOnHost compiled(std::move(wide), cuda_options(/*unit_stride=*/true, /*wide_index=*/true));
  compiled.run({1}, {strided(y.data(), {extent / 64, 64}, {0, 1}), strided(x.data(), {extent / 64, 64}, {0, 1}),
                     scalar(number)});
  return y;
}

TEST(CudaWideTiles, RowsOfMoreThan2To31Elements) {
  const TileKernel copy{"copy",
                        {"y", "x", "number"},
                        [](Array<float, 2> y, Array<const float, 2> x, Int number) {
                          tile::store(y, {number, 0}, tile::load(x, {number, 0}, {1, 64}) * 2.F);
                        },
                        {.threads = 32}};
  const std::vector<float> got = run_wide(copy, (1 << 27) - 1);
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], 2.F * static_cast<float>(i + 1));
}

// Elements one after another at one place: stride 0.
TEST(CudaWideTiles, ATileWhoseNumberTimesItsExtentIsBeyond32Bits) {
  for (const bool whole : {false, true}) {  // a tile that is loaded whole, and one that is read element by element
    const TileKernel sum{"sum",
                         {"out", "x", "number"},
                         [whole](Array<float, 1> out, Array<const float, 1> x, Int number) {
                           const auto part = tile::load(x, {number}, {64});
                           tile::store(out, {0}, whole ? tile::inclusive_scan(part, 0) : part + part);
                         },
                         {.threads = 32}};
    std::vector<float> one{1.5F}, out(64);
    ir::Kernel wide = passes::widen_tile_origins(sum.definition()->forward(), {false, true, false});
    const CudaOnHost compiled(std::move(wide), cuda_options(/*unit_stride=*/false, /*wide_index=*/true));
    const std::vector<Argument> arguments{array(out), strided(one.data(), {extent - 3}, {0}), scalar((1 << 27) - 1)};
    compiled.run({1}, arguments);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double in_array = static_cast<double>(std::min<std::size_t>(i + 1, 61));
      ASSERT_EQ(out[i], whole ? 1.5 * in_array : i < 61 ? 3.0 : 0.0) << i;
    }
  }
}

}  // namespace
}  // namespace samite::test
