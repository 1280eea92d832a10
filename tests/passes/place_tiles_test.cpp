// Which tiles are in registers, and in which rows the others lie.
#include "samite/passes/tiles/place_tiles.h"

#include "tests/base/count.h"
#include "tests/passes/lowered_block.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using test::lowered_block;
using test::memory;
using ::testing::HasSubstr;
using ::testing::Not;

ir::Kernel placed_tiles(const std::string &body, int threads = 64) {
  ir::Kernel kernel = place_tiles(lowered_block(body, threads), gpu_architecture(90));
  ir::verify(kernel, ir::Form::lowered, "place_tiles");
  return kernel;
}

const std::string placed_factors = "%1: tile<f32, 16, 32> = load @x[0, 0] %2: tile<f32, 32, 64> = load @y[0, 0] ";
const std::string placed_product = "%3: tile<f32, 16, 64> = matmul %1, %2, 0.0:tile<f32, 16, 64> ";

TEST(PlaceTiles, SumsOfProductsAreInRegisters) {
  const ir::Kernel kernel = placed_tiles(placed_factors + placed_product + "store @x[0, 0] = %3");
  EXPECT_THAT(memory(kernel), HasSubstr("registers f32[1024] fragments("));
  for (const ir::TileCall &call : test::all<ir::TileCall>(kernel))
    EXPECT_EQ(call.sums.has_value(), call.op == ir::Op::MatMul);
}

TEST(PlaceTiles, SumsThatAreReadAcrossStayInMemory) {
  const ir::Kernel kernel =
      placed_tiles(placed_factors + placed_product +
                   "%4: tile<f32, 64, 16> = transpose(1, 0) %3 store @x[0, 0] = %3 store @y[0, 0] = %4");
  EXPECT_THAT(memory(kernel), HasSubstr("shared f32[1024]"));
}

TEST(PlaceTiles, TilesThatAreAddedToSumsLieAsTheyDo) {
  const ir::Kernel kernel = placed_tiles(placed_factors + placed_product +
                                         "%4: tile<f32, 16, 64> = mul %3, %3 store @x[0, 0] = %4 store @y[0, 0] = %3");
  EXPECT_THAT(memory(kernel), HasSubstr("registers"));
}

// As in softmax: tiles computed from sums element by element, or reduced row by row, have the sums' layout.
TEST(PlaceTiles, RowsOfSumsAreReducedInRegisters) {
  const std::string rows =
      "%4: tile<f32, 16, 64> = mul %3, %3 %5: tile<f32, 16, 1> = reduce_max %4 "
      "%6: tile<f32, 16, 64> = broadcast %5 %7: tile<f32, 16, 64> = sub %4, %6 "
      "%8: tile<f32, 16, 64> = exp %7 %9: tile<f32, 16, 1> = reduce_add %8 "
      "%10: tile<f16, 16, 64> = cast %8 %11: tile<f32, 64, 16> = load @y[0, 0] ";
  const std::string all = memory(placed_tiles(placed_factors + placed_product + rows +
                                              "store @x[0, 0] = %8 store @x[0, 0] = %9 store @h[0, 0] = %10"));
  EXPECT_EQ(test::count(all, "registers f32[1024] fragments("), 3) << all;
  EXPECT_EQ(test::count(all, "shared f32[1024]"), 0) << all;
}

// For any number of warps, with the type of the sums.
TEST(PlaceTiles, ColumnsOfSumsAreReducedInRegisters) {
  const auto placed = [](const std::string &result) {
    return memory(placed_tiles(placed_factors + placed_product + "%4: tile<f32, 16, 64> = mul %3, %3 " + result +
                               " store @x[0, 0] = %4 store @x[0, 0] = %5"));
  };
  const std::string columns = placed("%5: tile<f32, 1, 64> = reduce_max %4");
  EXPECT_EQ(test::count(columns, "registers f32[1024] fragments("), 2) << columns;
  EXPECT_EQ(test::count(columns, "shared f32[1024]"), 0) << columns;
  EXPECT_EQ(test::count(columns, "shared f32[64]"), 1) << "no memory for parts, but for the result: " << columns;
  EXPECT_EQ(test::count(placed("%5: f32 = reduce_max %4"), "shared f32[1024]"), 1) << "all of them";
}

// Without memory for the partial results of several warps, one warp must hold the whole row.
TEST(PlaceTiles, RowsThatWarpsShareWithoutMemoryForTheirPartsStayInMemory) {
  const auto placed = [](std::int64_t rows, int threads) {
    return memory(
        placed_tiles(fmt::format("%1: tile<f16, {0}, 16> = load @h[0, 0] %2: tile<f16, 16, 128> = load @h[0, 0] "
                                 "%3: tile<f32, {0}, 128> = matmul %1, %2, 0.0:tile<f32, {0}, 128> "
                                 "%4: tile<f32, {0}, 128> = mul %3, %3 %5: tile<f32, {0}, 1> = reduce_add %4 "
                                 "store @x[0, 0] = %4 store @x[0, 0] = %5",
                                 rows),
                     threads));
  };
  EXPECT_THAT(placed(64, 256), Not(HasSubstr("shared f32[8192]")));
  // 256 rows of parts by 16 warps each are too many.
  EXPECT_THAT(placed(256, 512), HasSubstr("shared f32[32768]"));
}

// Two sums of 64 registers each leave room for tiles of one value per row, such as scales of the next iteration, but
// not for more.
TEST(PlaceTiles, ValuesOfRowsAreInRegistersBesideTheSums) {
  const auto placed = [](const std::string &column) {
    return memory(placed_tiles(
        "%1: tile<i32, 64, 128> = coordinate 0 %2: tile<i32, 64, 128> = coordinate 1 "
        "%3: tile<f32, 64, 128> = load @y[%1, " +
            column +
            "] for %4: i32 in 0 .. @n step 1 carry (%5 -> %12: tile<f32, 64, 128> = 0.0:tile<f32, 64, 128> then %10, "
            "%6 -> %13: tile<f32, 64, 128> = %3 then %11) { "
            "%7: tile<f16, 64, 16> = load @h[0, %4] %8: tile<f16, 16, 128> = load @h[%4, 0] "
            "%9: tile<f32, 64, 128> = matmul %7, %8, 0.0:tile<f32, 64, 128> %14: tile<f32, 64, 128> = mul %9, %6 "
            "%10: tile<f32, 64, 128> = add %5, %14 %11: tile<f32, 64, 128> = load @y[%1, " +
            (column == "0" ? "%4" : column) + "] } store @x[0, 0] = %12",
        128));
  };
  EXPECT_THAT(placed("0"), Not(HasSubstr("shared f32[8192]")));
  EXPECT_THAT(placed("%2"), HasSubstr("shared f32[8192]"));
}

// A factor read one row at a time needs no swizzle; one read across the terms does.
TEST(PlaceTiles, FactorsHaveRowsOfWholeUnits) {
  const std::string text = memory(placed_tiles(placed_factors + placed_product + "store @x[0, 0] = %3"));
  EXPECT_THAT(text, HasSubstr("shared f32[512] rows(32, 8"));
  EXPECT_THAT(text, HasSubstr("shared f32[2048] rows(64, 16"));
}

TEST(PlaceTiles, FactorsThatSomethingElseTouchesLieRowByRow) {
  const std::string text = memory(placed_tiles(placed_factors + placed_product +
                                               "%4: f32 = reduce_add %1 store @x[0, 0] = %3 "
                                               "store @y[0, 0] = %4"));
  EXPECT_THAT(text, HasSubstr("shared f32[512] linear"));
}

TEST(PlaceTiles, NothingWhereTheProgramSaysShared) {
  ir::Kernel lowered = lowered_block(placed_factors + placed_product + "store @x[0, 0] = %3");
  lowered.sums_in_shared = true;
  EXPECT_THAT(memory(place_tiles(lowered, gpu_architecture(90))), Not(HasSubstr("registers")));
}

TEST(PlaceTiles, NothingOnACpu) {
  const ir::Kernel lowered = lowered_block(placed_factors + placed_product + "store @x[0, 0] = %3");
  EXPECT_EQ(to_string(place_tiles(lowered, cpu_architecture())), to_string(lowered));
}

TEST(PlaceTiles, ProductsOfTypesThatNoUnitMultipliesAreElementByElement) {
  EXPECT_FALSE(fragments({ir::Op::MatMul,
                          0,
                          {0, {ScalarType::Int64, {16, 16}}},
                          {{1, {ScalarType::Int64, {16, 16}}}, {2, {ScalarType::Int64, {16, 16}}}}},
                         64, gpu_architecture(90)));
}

// Each thread's sums are as few as any arrangement of the warps allows, and no more than 128 registers.
TEST(Fragments, LeaveEachThreadFewSums) {
  for (const std::int64_t rows : {8, 16, 24, 64, 128, 200})
    for (const std::int64_t columns : {8, 16, 40, 64, 256})
      for (const int threads : {32, 64, 96, 128, 256}) {
        const ir::Type sum(ScalarType::Float32, {rows, columns}), a(ScalarType::Float16, {rows, 16}),
            b(ScalarType::Float16, {16, columns});
        const auto found = fragments({ir::Op::MatMul, 0, {0, sum}, {{1, a}, {2, b}}}, threads, gpu_architecture(90));
        std::int64_t fewest = 1 << 30;
        for (int down = 1; down <= threads / 32; ++down)
          if (threads / 32 % down == 0)
            fewest = std::min(
                fewest, ir::FragmentLayout{ir::FragmentLayout::Unit::matrices, rows, columns, down, threads / 32 / down}
                            .registers());
        ASSERT_EQ(found.has_value(), fewest <= 128) << rows << ' ' << columns << ' ' << threads;
        if (!found) continue;
        EXPECT_EQ(found->registers(), fewest);
      }
}

}  // namespace
}  // namespace samite::passes
