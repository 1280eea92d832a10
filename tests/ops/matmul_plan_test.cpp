// The tiles that a product is cut into.
#include "samite/ops/matmul_plan.h"
#include "samite/ops/grouped_rows.h"
#include "samite/passes/sm90/share_steps.h"
#include "tests/ops/plan_devices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace samite::ops {
namespace {

MatmulPlan plan(std::int64_t rows, std::int64_t columns, ScalarType factor, const PlanDevice &device,
                tile::Precision precision = tile::Precision::full) {
  return matmul_plan({1, rows, columns, 4096}, {factor, precision}, device);
}

TEST(MatmulPlan, LargeProductsHaveTheLargestTiles) {
  EXPECT_EQ(plan(4096, 4096, ScalarType::BFloat16, hopper), (MatmulPlan{128, 256, 64, 256, 4}));
  EXPECT_EQ(plan(4096, 4096, ScalarType::BFloat16, ampere), (MatmulPlan{128, 128, 32, 256, 3}));
  EXPECT_EQ(plan(4096, 4096, ScalarType::Float32, hopper, tile::Precision::tf32), (MatmulPlan{256, 128, 32, 256, 4}));
  EXPECT_EQ(plan(4096, 4096, ScalarType::Float32, ampere, tile::Precision::tf32).threads, 128);
  EXPECT_EQ(plan(4096, 4096, ScalarType::Float32, hopper), (MatmulPlan{128, 256, 64, 256, 2}));
  EXPECT_EQ(plan(4096, 4096, ScalarType::Float32, ampere), (MatmulPlan{128, 128, 32, 256, 2}));
  EXPECT_EQ(plan(4096, 4096, ScalarType::Int32, hopper), (MatmulPlan{128, 128, 32, 256, 2}));
  EXPECT_EQ(plan(4096, 4096, ScalarType::Float8E4M3, hopper), (MatmulPlan{128, 128, 64, 256, 3}));
}

// One group of warps has a tile there, and hides the rest of it behind the loop of another.
TEST(MatmulPlan, TeamsInSeveralRounds) {
  const MatmulPlan in_16_bits{128, 128, 64, 128, 6}, of_two_groups{128, 256, 64, 256, 4};
  MatmulFactors factors{.type = ScalarType::BFloat16};
  EXPECT_EQ(matmul_plan({1, 4096, 4096, 2048}, factors, hopper), in_16_bits);
  EXPECT_EQ(matmul_plan({1, 4096, 4096, 2049}, factors, hopper), of_two_groups) << "long sums";
  EXPECT_EQ(matmul_plan({1, 8192, 8192, 8192}, factors, hopper), in_16_bits) << "long sums in many rounds";
  EXPECT_EQ(matmul_plan({1, 4096, 2176, 2048}, factors, hopper), in_16_bits) << "544 blocks";
  EXPECT_EQ(matmul_plan({1, 4096, 2048, 2048}, factors, hopper), of_two_groups) << "512 blocks";
  EXPECT_EQ(matmul_plan({4, 2048, 2048, 256}, factors, hopper), in_16_bits);
  const auto candidates = [&] { return matmul_candidates({1, 4096, 4096, 4096}, factors, hopper); };
  EXPECT_TRUE(std::ranges::count(candidates(), in_16_bits));
  for (bool MatmulFactors::*without :
       {&MatmulFactors::rows_vary, &MatmulFactors::terms_vary, &MatmulFactors::differentiated}) {
    factors = {.type = ScalarType::BFloat16};
    factors.*without = true;
    EXPECT_EQ(matmul_plan({1, 4096, 4096, 2048}, factors, hopper), of_two_groups);
    EXPECT_FALSE(std::ranges::count(candidates(), in_16_bits));
  }
  EXPECT_EQ(matmul_plan({1, 8192, 8192, 8192}, {.type = ScalarType::Float8E4M3, .transposed = {.b = true}}, hopper),
            (MatmulPlan{128, 128, 128, 128, 6}));
}

// One wave of blocks that leaves few multiprocessors idle is faster than two of half the columns.
TEST(MatmulPlan, MostMultiprocessorsHaveABlockWhereThatIsPossible) {
  for (const std::int64_t n : {256, 512, 1024, 2048, 4096, 8192})
    for (const ScalarType type : {ScalarType::Float16, ScalarType::Float32, ScalarType::Float64, ScalarType::Int8}) {
      const MatmulPlan chosen = plan(n, n, type, hopper), smallest = plan(64, 1, type, hopper);
      const MatmulShape shape{1, n, n, n};
      if (chosen != smallest) {
        const bool alone = type == ScalarType::Float16 || chosen.columns == 256;  // on a multiprocessor
        const std::int64_t blocks = matmul_blocks(shape, chosen).count();
        const std::int64_t parts = type == ScalarType::Float16
                                       ? passes::parts_of_steps(blocks, 4096 / chosen.inner, hopper.multiprocessors)
                                       : 1;
        EXPECT_GE(blocks * parts, hopper.multiprocessors * (alone ? 3 : 4) / 4 - parts) << n;
      }
    }
}

// By the fastest of the plans measured on an H200, or nearly so.
TEST(MatmulPlan, FewBlocksShareStepsOrHaveTilesOfTheirOwn) {
  const auto of = [](std::int64_t rows, std::int64_t columns, std::int64_t inner) {
    return matmul_plan({1, rows, columns, inner}, {.type = ScalarType::BFloat16}, hopper);
  };
  EXPECT_EQ(of(512, 512, 16384), (MatmulPlan{128, 128, 64, 256, 6})) << "in six parts";
  EXPECT_EQ(of(256, 2048, 8192), (MatmulPlan{128, 128, 64, 256, 6})) << "in three parts";
  EXPECT_EQ(of(512, 512, 4096), (MatmulPlan{64, 128, 64, 128, 8})) << "in three parts";
  EXPECT_EQ(of(1024, 1024, 4096), (MatmulPlan{64, 128, 64, 128, 8})) << "128 blocks";
  EXPECT_EQ(of(512, 4096, 4096), (MatmulPlan{128, 128, 64, 256, 6})) << "128 blocks";
  EXPECT_EQ(of(512, 512, 1024), (MatmulPlan{64, 64, 128, 128, 6})) << "64 blocks, whose loops are short";
  EXPECT_EQ(of(1536, 1536, 1536), (MatmulPlan{128, 192, 64, 256, 5})) << "96 blocks, not 144";
  EXPECT_EQ(of(2048, 2048, 2048), (MatmulPlan{128, 256, 64, 256, 4})) << "128 blocks";
  const MatmulFactors limited{.type = ScalarType::BFloat16, .terms_vary = true};
  EXPECT_EQ(matmul_plan({1, 256, 2048, 8192}, limited, hopper), (MatmulPlan{64, 64, 128, 128, 6}))
      << "blocks share no loop whose terms have a limit";
}

TEST(MatmulPlan, OneRoundOfBlocksOfGroupsOfWarps) {
  MatmulFactors factors{.type = ScalarType::Float8E4M3, .transposed = {.b = true}};
  EXPECT_EQ(matmul_plan({1, 64, 7168, 4096}, factors, hopper), (MatmulPlan{64, 64, 256, 128, 6})) << "112 blocks";
  EXPECT_EQ(matmul_plan({1, 64, 4096, 4096}, factors, hopper), (MatmulPlan{64, 64, 256, 128, 6})) << "64 blocks";
  EXPECT_EQ(matmul_plan({1, 1280, 2560, 4096}, factors, hopper), (MatmulPlan{128, 256, 128, 256, 4})) << "100 blocks";
  EXPECT_EQ(matmul_plan({1, 1280, 1280, 4096}, factors, hopper), (MatmulPlan{128, 128, 128, 256, 6})) << "100 blocks";
  EXPECT_EQ(matmul_plan({1, 1280, 1152, 4096}, factors, hopper), (MatmulPlan{64, 128, 128, 128, 4})) << "180 blocks";
  EXPECT_EQ(matmul_plan({1, 64, 32768, 4096}, factors, hopper), (MatmulPlan{64, 128, 128, 128, 4})) << "256 blocks";
  EXPECT_EQ(matmul_plan({1, 16, 4096, 4096}, {.type = ScalarType::BFloat16}, hopper), (MatmulPlan{16, 64, 128, 128, 9}))
      << "64 blocks";
  EXPECT_EQ(matmul_plan({64, 32, 4096, 2048}, {.type = ScalarType::BFloat16}, hopper),
            (MatmulPlan{32, 128, 64, 128, 4}))
      << "2048 blocks";
  EXPECT_EQ(matmul_plan({1, 64, 14336, 4096}, factors, hopper), (MatmulPlan{64, 128, 128, 128, 8})) << "112 blocks";
}

TEST(MatmulPlan, FewRowsHaveLowTiles) {
  EXPECT_EQ(plan(16, 65536, ScalarType::BFloat16, ampere).rows, 16);
  EXPECT_EQ(plan(16, 65536, ScalarType::BFloat16, hopper).rows, 16);
  EXPECT_EQ(plan(1, 100, ScalarType::Float32, cpu).rows, 1);
  EXPECT_EQ(plan(7, 100, ScalarType::Float32, cpu).rows, 4);
  EXPECT_EQ(plan(0, 0, ScalarType::Float32, cpu).rows, 1);
}

TEST(MatmulPlan, BlocksCoverTheResult) {
  EXPECT_EQ(matmul_blocks({3, 129, 257, 5}, {128, 256, 64, 256, 4}), (Extents{3, 2, 2}));
}

// Groups of rows of any heights: a tile may begin anywhere, and each group may end in a partial one.
TEST(MatmulPlan, GroupsOfRowsHaveTilesOfTheirMeanHeight) {
  const GroupedShape few{64, 1024, 4096, 2048}, many{8, 32768, 4096, 2048};
  const MatmulFactors factors{.type = ScalarType::BFloat16};
  EXPECT_EQ(grouped_plan(few, factors, ampere).rows, 16);
  EXPECT_EQ(grouped_plan(many, factors, hopper), (MatmulPlan{128, 256, 64, 256, 4}));
  EXPECT_EQ(grouped_blocks({3, 129, 257, 5}, {128, 256, 64, 256, 4}), (Extents{4, 2}));
}

// A tile has no rows outside of the array except those of its last 8.
TEST(MatmulPlan, FewRowsAreThoseOfATileOfGroupsOfWarps) {
  MatmulFactors factors{.type = ScalarType::Float8E4M3, .transposed = {.b = true}};
  const auto few = [&](std::int64_t rows) { return matmul_plan({1, rows, 8192, 8192}, factors, hopper); };
  EXPECT_EQ(few(16), (MatmulPlan{16, 64, 256, 128, 9}));
  for (const std::int64_t rows : {0, 1, 8, 9, 33, 61, 64}) {
    const MatmulPlan plan = few(rows);
    EXPECT_EQ(plan.rows, std::max<std::int64_t>((rows + 7) / 8 * 8, 8));
    EXPECT_LE((plan.rows + plan.columns) * plan.inner * plan.stages, 192 << 10) << rows;
    EXPECT_GE(plan.stages, 6) << rows;
  }
  factors.block_scales = factors.scales_beside = true;
  EXPECT_EQ(few(16), (MatmulPlan{16, 64, 128, 128, 16}));
  EXPECT_EQ(few(17).rows, 24);
  factors.row_blocks = true;
  EXPECT_EQ(few(17).rows, 32) << "which divide 128";
  factors.scales_beside = false;
  EXPECT_EQ(few(17).rows, 64) << "a thread loads scales of whole rows once";
  factors = {.type = ScalarType::BFloat16};
  EXPECT_EQ(few(17).rows, 24);
  factors.differentiated = true;
  EXPECT_EQ(few(17).rows, 32) << "rows are terms of b's gradient, 16 to an instruction";
  EXPECT_EQ(few(1).rows, 16);
  factors.differentiated = false;
  factors.transposed.a = true;
  EXPECT_EQ(few(17).rows, 64) << "rows of windows of a are those of the array";
  factors = {.type = ScalarType::BFloat16};
  EXPECT_EQ(grouped_plan({2, 34, 8192, 8192}, factors, hopper).rows, 64) << "groups have more rows or fewer";
  EXPECT_EQ(matmul_plan({1, 17, 8192, 8192}, factors, ampere).rows, 16);
}

TEST(MatmulPlan, GroupsOfWarpsMultiplyWhereTermsLieTogether) {
  const MatmulShape shape{1, 4096, 4096, 4096};
  MatmulFactors factors{.type = ScalarType::Float8E4M3, .transposed = {.b = true}};
  EXPECT_EQ(matmul_plan(shape, factors, hopper), (MatmulPlan{128, 128, 128, 128, 6}));
  factors = {.type = ScalarType::Float32, .precision = tile::Precision::tf32, .transposed = {.b = true}};
  EXPECT_EQ(matmul_plan(shape, factors, hopper), (MatmulPlan{128, 256, 32, 256, 4}));
  factors.transposed.a = true;
  EXPECT_EQ(matmul_plan(shape, factors, hopper).inner, 32);
  EXPECT_EQ(matmul_plan(shape, factors, hopper).threads, 128);
}

// As their launches do, see passes/tiles/factor_copies.h.
TEST(MatmulPlan, GroupsOfWarpsMultiplyWhatIsCopiedSoThatTermsLieTogether) {
  MatmulFactors factors{
      .type = ScalarType::Float32, .precision = tile::Precision::tf32, .copied_where_that_pays = true};
  const auto threads = [&](const MatmulShape &shape) { return matmul_plan(shape, factors, hopper).threads; };
  EXPECT_EQ(matmul_plan({1, 4096, 4096, 4096}, factors, hopper), (MatmulPlan{256, 128, 32, 256, 4}));
  EXPECT_EQ(threads({1, 512, 65536, 4096}), 256) << "no copy of b is needed";
  factors.transposed = {.a = true, .b = true};
  EXPECT_EQ(matmul_plan({1, 4096, 4096, 4096}, factors, hopper), (MatmulPlan{128, 256, 32, 256, 4}));
  factors.transposed = {.a = true};
  EXPECT_EQ(matmul_plan({1, 4096, 4096, 4096}, factors, hopper), (MatmulPlan{256, 128, 32, 256, 4}));
  EXPECT_EQ(threads({1, 1024, 1024, 512}), 128) << "soon done";
  EXPECT_EQ(threads({1, 65536, 512, 4096}), 128) << "elements of a are multiplied 512 times";
  factors.precision = tile::Precision::full;
  EXPECT_EQ(matmul_plan({1, 4096, 4096, 4096}, factors, hopper), (MatmulPlan{128, 256, 64, 256, 2}));
  factors = {.type = ScalarType::Int8, .copied_where_that_pays = true};
  EXPECT_EQ(matmul_plan({1, 4096, 4096, 4096}, factors, hopper), (MatmulPlan{128, 128, 128, 128, 6}));
}

// Not its compute capability: newer GPUs have as much room.
TEST(MatmulPlan, ThreadsHaveTheLargestTileForWhichABlockHasRoom) {
  for (const auto &[capability, columns] : {std::pair{80, 128}, {86, 128}, {90, 256}, {100, 256}, {120, 128}}) {
    const MatmulPlan chosen = plan(4096, 4096, ScalarType::Float32, {capability, 108});
    EXPECT_EQ(chosen.columns, columns) << capability;
    EXPECT_LE(4 * (chosen.rows + chosen.columns) * chosen.inner * chosen.stages,
              (PlanDevice{capability, 108}.shared_bytes()));
  }
}

TEST(MatmulPlan, SingleWarpsMultiplyWhereWarpGroupsAreNotAskedFor) {
  MatmulFactors factors{.type = ScalarType::BFloat16, .by_single_warps = true};
  EXPECT_EQ(matmul_plan({1, 4096, 4096, 4096}, factors, hopper), (MatmulPlan{128, 128, 32, 256, 3}));
  factors.by_single_warps = false;
  EXPECT_EQ(differentiated_grouped_plan({8, 32768, 4096, 2048}, factors, hopper), (MatmulPlan{64, 64, 32, 128, 2}));
}

TEST(MatmulPlan, HasTheFieldsThatALaunchAsksFor) {
  const MatmulPlan chosen{128, 256, 64, 256, 4};
  EXPECT_EQ(obeying({}, chosen), chosen);
  EXPECT_EQ(obeying({.teams = 2, .strip_columns = 4}, chosen), chosen);
  EXPECT_EQ(obeying({.columns = 128, .threads = 128, .stages = 6}, chosen), (MatmulPlan{128, 128, 64, 128, 6}));
  EXPECT_EQ(obeying({.rows = 64, .inner = 128}, chosen), (MatmulPlan{64, 256, 128, 256, 4}));
}

// A block of scales covers whole tiles, and an iteration's terms.
TEST(MatmulPlan, TilesOfScaledBlocksDivide128) {
  for (const PlanDevice &device : {hopper, ampere, cpu})
    for (const std::int64_t rows : {1, 16, 64, 128, 4096})
      for (const bool transposed : {false, true}) {
        const MatmulFactors factors{
            .type = ScalarType::Float8E4M3, .transposed = {.b = transposed}, .block_scales = true, .row_blocks = true};
        const MatmulPlan chosen = matmul_plan({1, rows, 4096, 4096}, factors, device);
        EXPECT_EQ(128 % chosen.rows, 0);
        EXPECT_EQ(128 % chosen.columns, 0);
        EXPECT_EQ(chosen.inner, 128);
      }
}

// Three warp groups for results of many waves of blocks, if no scale is for a block of rows.
TEST(MatmulPlan, OfScaledBlocks) {
  MatmulFactors factors{.type = ScalarType::Float8E4M3, .transposed = {.b = true}, .block_scales = true};
  EXPECT_EQ(matmul_plan({1, 8192, 8192, 8192}, factors, hopper), (MatmulPlan{192, 128, 128, 384, 4}));
  EXPECT_EQ(matmul_plan({1, 4096, 4096, 4096}, factors, hopper), (MatmulPlan{128, 128, 128, 256, 6}));
  EXPECT_EQ(matmul_plan({1, 4096, 7168, 2048}, factors, hopper), (MatmulPlan{128, 128, 128, 256, 6}));
  EXPECT_EQ(matmul_plan({1, 16, 8192, 8192}, factors, hopper), (MatmulPlan{64, 64, 128, 128, 8})) << "one round";
  EXPECT_EQ(matmul_plan({1, 16, 4096, 8192}, factors, hopper), (MatmulPlan{64, 32, 128, 128, 10}));
  factors.row_blocks = true;
  EXPECT_EQ(matmul_plan({1, 8192, 8192, 8192}, factors, hopper), (MatmulPlan{128, 128, 128, 256, 6}));
  // Two parts of columns if copies load the scales.
  factors.scales_beside = true;
  for (const bool row_blocks : {false, true}) {
    factors.row_blocks = row_blocks;
    EXPECT_EQ(matmul_plan({1, 8192, 8192, 8192}, factors, hopper), (MatmulPlan{128, 256, 128, 256, 4}));
    EXPECT_EQ(matmul_plan({1, 4096, 4096, 4096}, factors, hopper), (MatmulPlan{128, 256, 128, 256, 4}));
    EXPECT_EQ(matmul_plan({1, 1024, 2048, 4096}, factors, hopper), (MatmulPlan{128, 128, 128, 256, 6}));
  }
}

}  // namespace
}  // namespace samite::ops
