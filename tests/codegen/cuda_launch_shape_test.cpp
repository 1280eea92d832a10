#include "samite/codegen/cuda_launch_shape.h"

#include "samite/ir/parse.h"

#include "samite/base/error.h"

#include <gtest/gtest.h>

#include <random>

namespace samite::codegen {
namespace {

using Extents = std::vector<std::int64_t>;

constexpr std::int64_t many = 1 << 20;

CudaLaunchShape exact(const Extents &extents) { return cuda_launch_shape(extents, {}, many); }
CudaLaunchShape grid_strided(const Extents &extents, std::int64_t most_blocks) {
  return cuda_launch_shape(extents, {.grid_stride = true}, most_blocks);
}

std::int64_t threads_of(const std::array<unsigned, 3> &block) { return std::int64_t{block[0]} * block[1] * block[2]; }

TEST(CudaLaunchShape, OneDimensionIsBlocksOf256) {
  EXPECT_EQ(exact({1000}), (CudaLaunchShape{{4, 1, 1}, {256, 1, 1}}));
  EXPECT_EQ(exact({1024}), (CudaLaunchShape{{4, 1, 1}, {256, 1, 1}}));
}

TEST(CudaLaunchShape, AWarpLiesAlongTheLastDimension) {
  EXPECT_EQ(exact({100, 1000}), (CudaLaunchShape{{32, 13, 1}, {32, 8, 1}}));
  EXPECT_EQ(exact({5, 100, 1000}), (CudaLaunchShape{{32, 25, 3}, {32, 4, 2}})) << "as deep as high";
}

TEST(CudaLaunchShape, ANarrowLastDimensionTakesMoreRows) {
  EXPECT_EQ(exact({100, 3}).block, (std::array<unsigned, 3>{4, 64, 1}));
  EXPECT_EQ(exact({100, 1}).block, (std::array<unsigned, 3>{1, 128, 1}));
  EXPECT_EQ(exact({1000, 2, 3}).block, (std::array<unsigned, 3>{4, 2, 32}));
}

TEST(CudaLaunchShape, FewRowsTakeLongerOnes) {
  EXPECT_EQ(exact({1, 1000}), (CudaLaunchShape{{4, 1, 1}, {256, 1, 1}}));
  EXPECT_EQ(exact({2, 1, 1000}).block, (std::array<unsigned, 3>{128, 1, 2}));
}

TEST(CudaLaunchShape, ALaunchOfOneInstanceIsOneThread) {
  EXPECT_EQ(exact({1}), (CudaLaunchShape{{1, 1, 1}, {1, 1, 1}}));
  EXPECT_EQ(exact({1, 1, 1, 1}), (CudaLaunchShape{{1, 1, 1}, {1, 1, 1}}));
}

TEST(CudaLaunchShape, FourDimensionsShareThreeAxes) {
  EXPECT_EQ(exact({3, 5, 100, 1000}), (CudaLaunchShape{{32, 25, 8}, {32, 4, 2}}));
}

TEST(CudaLaunchShape, TheGridStrideFormsGridIsLimited) {
  EXPECT_EQ(grid_strided({1 << 30}, 500).grid, (std::array<unsigned, 3>{500, 1, 1}));
  EXPECT_EQ(grid_strided({100, 1000}, 100).grid, (std::array<unsigned, 3>{32, 3, 1}));
  EXPECT_EQ(grid_strided({100, 1000}, 1 << 20).grid, exact({100, 1000}).grid);
  EXPECT_EQ(grid_strided({std::int64_t{1} << 40}, 7).grid, (std::array<unsigned, 3>{7, 1, 1}));
}

TEST(CudaLaunchShape, AThreadMayTakeSeveralNeighbours) {
  const CudaForm four{.instances_per_thread = 4};
  EXPECT_EQ(cuda_launch_shape(Extents{1025}, four, many), (CudaLaunchShape{{2, 1, 1}, {256, 1, 1}}));
  EXPECT_EQ(cuda_launch_shape(Extents{7, 128}, four, many), (CudaLaunchShape{{1, 1, 1}, {32, 8, 1}}));
  EXPECT_TRUE(fits_exact_launch(Extents{(std::int64_t{1} << 31) - 1024}, four));
  EXPECT_FALSE(fits_exact_launch(Extents{std::int64_t{1} << 31}, four));
}

TEST(CudaLaunchShape, FewBlocksAreMadeSmaller) {
  const auto shape = [](const Extents &extents, int multiprocessors) {
    return cuda_launch_shape(extents, {}, many, multiprocessors);
  };
  EXPECT_EQ(shape({25600}, 100), (CudaLaunchShape{{400, 1, 1}, {64, 1, 1}}));
  EXPECT_EQ(shape({51200}, 100), (CudaLaunchShape{{400, 1, 1}, {128, 1, 1}}));
  EXPECT_EQ(shape({102400}, 100), (CudaLaunchShape{{400, 1, 1}, {256, 1, 1}}));
  EXPECT_EQ(shape({1000}, 100), (CudaLaunchShape{{16, 1, 1}, {64, 1, 1}}));
  EXPECT_EQ(shape({64, 64}, 100).block, (std::array<unsigned, 3>{32, 2, 1}));
  EXPECT_EQ(shape({25600}, 0), exact({25600}));
}

TEST(CudaLaunchShape, LimitsOfTheExactForm) {
  const auto fits = [](const Extents &extents) { return fits_exact_launch(extents, {}); };
  EXPECT_TRUE(fits({(std::int64_t{1} << 31) - 256}));
  EXPECT_FALSE(fits({(std::int64_t{1} << 31) - 1}));  // a whole number of blocks is 2^31
  EXPECT_FALSE(fits({std::int64_t{1} << 40}));
  EXPECT_TRUE(fits({65535 * 8, 1000}));
  EXPECT_FALSE(fits({65535 * 8 + 1, 1000}));
  EXPECT_TRUE(fits({65535, 100, 100}));
  EXPECT_FALSE(fits({131072, 100, 100}));
  EXPECT_TRUE(fits({255, 257, 100, 100}));
  EXPECT_FALSE(fits({512, 256, 100, 100}));
  EXPECT_FALSE(fits({std::int64_t{1} << 40, std::int64_t{1} << 40, 1, 1}));
  EXPECT_THROW(exact({std::int64_t{1} << 40}), InternalError);
}

// A block of a tile kernel is an instance.
TEST(CudaLaunchShape, TileKernels) {
  const CudaForm form{.tile_threads = 128};
  const std::int64_t side = std::int64_t{1} << 16;
  EXPECT_TRUE(fits_exact_launch(Extents{side - 1, side / 2}, form));
  EXPECT_FALSE(fits_exact_launch(Extents{side, side / 2}, form));
  EXPECT_FALSE(fits_exact_launch(Extents{std::int64_t{1} << 40, std::int64_t{1} << 40}, form));
  EXPECT_EQ(cuda_launch_shape(Extents{300, 70'000}, form, many), (CudaLaunchShape{{21'000'000, 1, 1}, {128, 1, 1}}));
  EXPECT_THROW(cuda_launch_shape(Extents{side, side}, form, many), InternalError);
  EXPECT_EQ(cuda_launch_shape(Extents{side, side}, {.grid_stride = true, .tile_threads = 128}, 500).grid[0], 500u);
  const CudaLaunchShape teams =
      cuda_launch_shape(Extents{30, 20}, {.grid_stride = true, .tile_threads = 384, .teams = 2, .stays = true}, 132);
  EXPECT_EQ(teams.block, (std::array{128u, 3u, 1u}));
  EXPECT_EQ(teams.grid, (std::array{132u, 1u, 1u}));
}

TEST(CudaLaunchShape, AnAxisForEachDimension) {
  const auto fits = [](const Extents &extents) { return fits_grid_axes(extents); };
  const std::int64_t most = 65535, longest = (std::int64_t{1} << 31) - 1;
  EXPECT_FALSE(fits({5})) << "is along x in any case";
  EXPECT_TRUE(fits({most, longest}));
  EXPECT_FALSE(fits({most, longest + 1}));
  EXPECT_FALSE(fits({most + 1, 1}));
  EXPECT_TRUE(fits({most, most, longest}));
  EXPECT_FALSE(fits({most, most + 1, 1}));
  EXPECT_FALSE(fits({most + 1, 1, 1}));
  EXPECT_FALSE(fits({1, 1, 1, 1}));
  const CudaForm form{.tile_threads = 96, .grid_axes = true};
  EXPECT_EQ(cuda_launch_shape(Extents{27, 1281, 2}, form, many), (CudaLaunchShape{{2, 1281, 27}, {96, 1, 1}}));
  EXPECT_EQ(cuda_launch_shape(Extents{most, 7}, form, many), (CudaLaunchShape{{7, 65535, 1}, {96, 1, 1}}));
  EXPECT_THROW(cuda_launch_shape(Extents{most + 1, 7}, form, many), InternalError);
}

TEST(CudaLaunchShape, EveryLaunchIsCoveredWithinTheLimits) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    Extents extents(1 + random() % 4);
    for (std::int64_t &extent : extents) extent = 1 + static_cast<std::int64_t>(random() >> (33 + random() % 31));
    const CudaForm form{.grid_stride = false, .threads_per_block = 32 << random() % 6};
    const bool fits = fits_exact_launch(extents, form);
    const CudaLaunchShape shape = cuda_launch_shape(extents, {!fits, form.threads_per_block}, 1000);
    EXPECT_LE(threads_of(shape.block), form.threads_per_block);
    EXPECT_LE(shape.block[2], 64u);
    EXPECT_LE(shape.grid[0], 2147483647u);
    EXPECT_LE(shape.grid[1], 65535u);
    EXPECT_LE(shape.grid[2], 65535u);
    std::int64_t instances = 1;
    for (std::int64_t extent : extents) instances = std::min<std::int64_t>(instances * extent, 1 << 30);
    // No block is smaller than the launch and the limit allow, except for the rounding of each dimension.
    EXPECT_GE(threads_of(shape.block), std::min<std::int64_t>(instances, form.threads_per_block) / 16);
    if (!fits) continue;
    for (std::size_t d = 0; d < extents.size() && d < 2; ++d)
      EXPECT_GE(std::int64_t{shape.grid[d]} * shape.block[d], extents[extents.size() - 1 - d]);
  }
}

TEST(CudaLaunchShape, BlocksOfTilesAreLimitedInTheGridStrideForm) {
  CudaForm form{.tile_threads = 128};
  EXPECT_EQ(cuda_launch_shape(std::vector<std::int64_t>{50, 40}, form, 264).grid[0], 2000u);
  form.grid_stride = true;
  EXPECT_EQ(cuda_launch_shape(std::vector<std::int64_t>{50, 40}, form, 264).grid[0], 264u);
  EXPECT_EQ(cuda_launch_shape(std::vector<std::int64_t>{50}, form, 264).grid[0], 50u);
}

}  // namespace
}  // namespace samite::codegen
