// The loops before which the threads of a block wait.
#include "samite/passes/analysis/block_hazards.h"

#include "samite/ir/parse.h"
#include "samite/ir/verify.h"
#include "samite/ir/visit.h"
#include "samite/passes/threads/lower_threads.h"
#include "samite/passes/tiles/lower_tiles.h"
#include "samite/passes/tiles/place_tiles.h"
#include "samite/passes/tiles/spread_tiles.h"
#include "samite/passes/tiles/stage_loads.h"

#include <gtest/gtest.h>

namespace samite::passes {
namespace {

using namespace ir;

// How many loops that store need a barrier, of a kernel of two arrays.
std::size_t barriers(const std::string &body, bool share_memory = false) {
  const std::string text =
      "kernel @k(@x: array<f32, 1>, @y: array<f32, 1>) blocks 1 of 64 { %0: i32 = thread_index 0 " + body + " }";
  Kernel kernel = parse_kernel(text);
  verify(kernel, Form::structured, "the test");
  kernel = lower_threads(lower_tiles(std::move(kernel), gpu_architecture(90)));
  const Architecture &architecture = gpu_architecture(90);
  kernel = spread_tiles(stage_loads(place_tiles(std::move(kernel), architecture)), architecture);
  return loops_after_reads(kernel, [&](std::uint32_t a, std::uint32_t b) { return a == b || share_memory; }).size();
}
const std::string number = "%1: f32 = load @y[7] %2: tile<f32, 512> = broadcast %1 ";
const std::string tile = "%3: tile<f32, 512> = load @y[%0] ";

TEST(BlockHazards, StoresOfAnArrayThatEveryThreadHasRead) {
  EXPECT_EQ(barriers(number + "store @y[0] = %2"), 1u);
  EXPECT_EQ(barriers(number + "store @x[0] = %2"), 0u);
  EXPECT_EQ(barriers(number + "store @x[0] = %2", true), 1u);
  EXPECT_EQ(barriers("%2: tile<f32, 512> = broadcast 1.0:f32 store @y[0] = %2 %1: f32 = load @y[7]"), 0u);
}

TEST(BlockHazards, OneBarrierIsEnough) {
  EXPECT_EQ(barriers(number + "store @y[0] = %2 store @y[512] = %2"), 1u);
  EXPECT_EQ(barriers(number + "%4: tile<f32, 256> = broadcast %1 store @x[0] = %2 store @y[0] = %4"), 0u)
      << "the first loop ends with one";
  EXPECT_EQ(barriers(number + "store @x[0] = 1.0 store @y[0] = %2"), 0u) << "and so does what one thread stores";
}

TEST(BlockHazards, TilesInRegisters) {
  EXPECT_EQ(barriers(tile + "store @y[1] = %3"), 1u);
  EXPECT_EQ(barriers(tile + "store @x[1] = %3"), 0u);
}

TEST(BlockHazards, BranchesAndLoops) {
  const std::string store = "{ %2: tile<f32, 512> = broadcast 1.0:f32 store @y[0] = %2 }";
  EXPECT_EQ(barriers("%1: f32 = load @y[7] %5: bool = lt %1, 2.0 if %5 " + store + " else {}"), 1u);
  EXPECT_EQ(barriers("%1: f32 = load @y[7] %5: bool = lt %1, 2.0 if %5 {} else {} %2: tile<f32, 512> = broadcast "
                     "1.0:f32 store @y[0] = %2"),
            1u);
  // The last element that an iteration reads is the first that the next one overwrites.
  EXPECT_EQ(
      barriers("for %5: i32 in 0 .. 3 step 1 carry (%1 -> %6: f32 = 0.0 then %7) { %2: tile<f32, 512> = broadcast "
               "%1 store @y[0] = %2 %7: f32 = load @y[7] }"),
      1u);
  EXPECT_EQ(barriers("for %5: i32 in 0 .. 3 step 1 { %2: tile<f32, 512> = broadcast 1.0:f32 store @y[0] = %2 }"), 0u);
}

}  // namespace
}  // namespace samite::passes
