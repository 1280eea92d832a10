// Loops that load ahead, written out.
#include "samite/passes/tiles/pipeline_loops.h"

#include "samite/passes/tiles/place_tiles.h"
#include "samite/passes/tiles/plan_tile_memory.h"
#include "samite/passes/tiles/stage_loads.h"
#include "tests/passes/lowered_block.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

ir::Kernel pipelined(const std::string &body) {
  ir::Kernel kernel = pipeline_loops(stage_loads(place_tiles(test::lowered_block(body), gpu_architecture(90))));
  ir::verify(kernel, ir::Form::lowered, "pipeline_loops");
  return kernel;
}

TEST(PipelineLoops, LeavesNoLoopThatLoadsAhead) {
  for (const ir::For &loop : test::all<ir::For>(pipelined(test::pipelined_product))) EXPECT_EQ(loop.ahead, 0u);
}

TEST(PipelineLoops, WindowsAtOneDistanceAreStreams) {
  const auto streams = test::all<ir::LoadStream>(pipelined(test::pipelined_product));
  ASSERT_EQ(streams.size(), 2u);
  EXPECT_EQ(streams[0].rows, 0);
  EXPECT_EQ(streams[0].columns, 16);
  EXPECT_EQ(streams[1].rows, 16);
  EXPECT_EQ(streams[1].columns, 0);
}

TEST(PipelineLoops, WindowsElsewhereAreFoundOneByOne) {
  std::string text = test::pipelined_product;
  text.replace(text.find("mul %1, 16"), 10, "mul %1, %1");
  const ir::Kernel kernel = pipelined(text);
  EXPECT_TRUE(test::all<ir::LoadStream>(kernel).empty());
  EXPECT_EQ(test::all<ir::TileLoad>(kernel).size(), 2u);
}

// Each stage has a buffer, all of them are one allocation, and no buffer has a place of its own.
TEST(PipelineLoops, BuffersAreOfOneAllocation) {
  const ir::Kernel kernel = pipelined(test::pipelined_product);
  std::size_t memory = 0, buffers = 0;
  for (const ir::Allocate &own : test::allocations(kernel))
    memory += own.stages == 3, buffers += own.buffer.has_value();
  EXPECT_EQ(memory, 2u);
  EXPECT_EQ(buffers, 6u) << "for loads from streams, loads at edges and the product, of two factors";
  const TileMemoryPlan plan = plan_tile_memory(kernel);
  ASSERT_EQ(plan.tiles.size(), 2u);
  EXPECT_EQ(plan.bytes, 2 * 3 * 64 * 16 * 2);
  EXPECT_NE(plan.tiles[0].offset, plan.tiles[1].offset);
}

TEST(PipelineLoops, WaitsForAsManyGroupsAsMayBeOnTheirWay) {
  std::vector<int> groups;
  for (const ir::WaitForCopies &wait : test::all<ir::WaitForCopies>(pipelined(test::pipelined_product)))
    groups.push_back(wait.groups);
  EXPECT_EQ(groups, (std::vector<int>{1, 0}));
}

TEST(PipelineLoops, OtherLoopsStayAsTheyAre) {
  const ir::Kernel lowered = test::lowered_block("for %1: i32 in 0 .. @n step 1 { store @x[%1, 0] = 1.0 }");
  EXPECT_EQ(to_string(pipeline_loops(lowered)), to_string(lowered));
}

}  // namespace
}  // namespace samite::passes
