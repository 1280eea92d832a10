// Sums of 16-bit numbers by several warps: each warp's partial sum keeps the digits that the sum may need.
#include "tests/codegen/cuda_tile_kernel.h"

namespace samite::test {
namespace {

// Runs of 32 elements have sums of alternating sign; rounding partial sums to 16 bits would lose their difference.
double total_of(const TileKernel<void(Array<half, 1>, Array<const half, 2>)> &kernel) {
  std::vector<half> x(64 * 64), sum(1);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = half(i / 32 % 2 == 0 ? (i < 256 && i % 32 == 0 ? 5.0f : 4.0f) : -4.0f);
  CudaOnHost(kernel.ir()).run({1}, {array(sum), array(x, {64, 64})});
  return static_cast<float>(sum[0]);
}

TEST(CudaSmallSums, OfSharedMemory) {
  EXPECT_EQ(total_of(TileKernel{"total",
                                [](Array<half, 1> sum, Array<const half, 2> x) {
                                  Tile<half> turned = tile::transpose(tile::load(x, {0, 0}, {64, 64}));
                                  sum(0) = tile::sum(tile::transpose(turned));
                                },
                                TileOptions{.threads = 256}}),
            4);
}

TEST(CudaSmallSums, OfRegisters) {
  EXPECT_EQ(total_of(TileKernel{"total",
                                [](Array<half, 1> sum, Array<const half, 2> x) {
                                  sum(0) = tile::sum(tile::load(x, {0, 0}, {64, 64}) * half(1.0f));
                                },
                                TileOptions{.threads = 256}}),
            4);
}

}  // namespace
}  // namespace samite::test
