// The placement of a block's memory: tiles that are live together are apart, and others share.
#include "samite/passes/tiles/plan_tile_memory.h"

#include "samite/ir/parse.h"
#include "samite/ir/verify.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using ::testing::HasSubstr;

TileMemoryPlan planned(const std::string &body) {
  ir::Kernel kernel = ir::parse_kernel(
      "kernel @test(@y: array<f32, 1>, @n: i32) blocks 1 of 32 scheduled { %0: i32 = thread_index 0 " + body + " }");
  ir::verify(kernel, ir::Form::lowered, "the test");
  return plan_tile_memory(kernel);
}

// Statements that store an element of array `number`, and that load it.
std::string allocated(int number, int elements) { return fmt::format("local shared ${}: f32[{}] ", number, elements); }
std::string stored(int number, int local) {
  return fmt::format("for.thread %{1}: i32 in 0 .. 32 step 1 {{ local_store ${0}[%{1}] = 1.0 }} ", number, local);
}
std::string loaded(int number, int local) {
  return fmt::format(
      "for.thread %{1}: i32 in 0 .. 32 step 1 {{ %{2}: f32 = local_load ${0}[%{1}] store @y[%{1}] = %{2} }} ", number,
      local, local + 1);
}

TEST(PlanTileMemory, TilesThatLiveOneAfterAnotherShareTheirMemory) {
  const TileMemoryPlan plan =
      planned(allocated(0, 64) + stored(0, 10) + loaded(0, 20) + allocated(1, 64) + stored(1, 30) + loaded(1, 40));
  ASSERT_EQ(plan.tiles.size(), 2u);
  EXPECT_EQ(plan.tiles[0].offset, 0);
  EXPECT_EQ(plan.tiles[1].offset, 0);
  EXPECT_EQ(plan.bytes, 256);
}

TEST(PlanTileMemory, TilesThatLiveTogetherLieApartTheLargestFirst) {
  const TileMemoryPlan plan =
      planned(allocated(0, 33) + allocated(1, 64) + stored(0, 10) + stored(1, 20) + loaded(0, 30) + loaded(1, 40));
  ASSERT_EQ(plan.tiles.size(), 2u);
  EXPECT_EQ(plan.tiles[1].offset, 0);
  EXPECT_EQ(plan.tiles[0].offset, 256);
  EXPECT_EQ(plan.tiles[0].bytes, 132);
  EXPECT_EQ(plan.bytes, 256 + 132);
}

TEST(PlanTileMemory, EachBeginsAtAMultipleOf128Bytes) {
  const TileMemoryPlan plan =
      planned(allocated(0, 33) + allocated(1, 33) + stored(0, 10) + stored(1, 20) + loaded(0, 30) + loaded(1, 40));
  EXPECT_EQ(plan.tiles[0].offset, 0);
  EXPECT_EQ(plan.tiles[1].offset, 256);
}

// It is used again in the next iteration.
TEST(PlanTileMemory, ATileFromBeforeALoopLivesToItsEnd) {
  const TileMemoryPlan plan = planned(allocated(0, 64) + stored(0, 10) + "for %5: i32 in 0 .. @n step 1 { " +
                                      loaded(0, 20) + allocated(1, 64) + stored(1, 30) + loaded(1, 40) + " }");
  ASSERT_EQ(plan.tiles.size(), 2u);
  EXPECT_NE(plan.tiles[0].offset, plan.tiles[1].offset);
  EXPECT_EQ(plan.bytes, 512);
}

TEST(PlanTileMemory, SaysWhatExceedsABlock) {
  const TileMemoryPlan plan = planned(allocated(0, 64) + stored(0, 10) + loaded(0, 20));
  EXPECT_THAT(plan.too_large(100), HasSubstr("156 bytes too many"));
  EXPECT_TRUE(fits(plan, gpu_architecture(80)));
}

}  // namespace
}  // namespace samite::passes
