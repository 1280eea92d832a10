// Which kernels take further indices, how many blocks a multiprocessor is to have, and what registers roles have.
#include "samite/passes/threads/shape_launch.h"

#include "samite/base/error.h"
#include "samite/jit/steps.h"
#include "tests/passes/product_loop_kernel.h"

#include <gmock/gmock.h>

namespace samite::passes::shape_launch_test {
namespace {

using ::testing::HasSubstr;

ir::Kernel shaped(ir::Kernel kernel, const LaunchWishes &wishes = {}) {
  ir::Kernel made = shape_launch(std::move(kernel), gpu_architecture(90), wishes);
  ir::verify(made, ir::Form::lowered, "shape_launch");
  const std::string text = ir::to_string(made);
  EXPECT_EQ(ir::to_string(ir::parse_kernel(text)), text);
  return made;
}
ir::Kernel of_threads(const std::string &body) {
  return ir::parse_kernel(
      "kernel @k(@x: array<f32, 1>) threads 1 { %0: i32 = launch_begin 0 %1: i32 = launch_end 0 "
      "for.thread %2: i32 in %0 .. %1 step 1 { " +
      body + " } }");
}
// A block with this much shared memory.
ir::Kernel of_block(int threads, std::int64_t elements) {
  return ir::parse_kernel(
      fmt::format("kernel @k() blocks 2 of {} {{ %0: i32 = launch_begin 0 %1: i32 = launch_end 0 "
                  "for.block %2: i32 in %0 .. %1 step 1 {{ %3: i32 = launch_begin 1 %4: i32 = "
                  "launch_end 1 for.block %5: i32 in %3 .. %4 step 1 {{ local shared $0: f32[{}] "
                  "offset 0 for.thread %6: i32 in 0 .. 8 step 1 {{ local_store $0[%6] = 1.0 }} }} }} "
                  "}}",
                  threads, elements));
}

TEST(ShapeLaunch, WorkspacesAndSumsOverTheLaunchTakeFurtherIndices) {
  EXPECT_FALSE(shaped(of_threads("local $0: f32[8] accumulate atomic @x[0] += 1.0")).grid.strides);
  EXPECT_TRUE(shaped(of_threads("local workspace $0: f32[8]")).grid.strides);
  EXPECT_TRUE(shaped(of_threads("accumulate atomic over_launch @x[0] += 1.0")).grid.strides);
  EXPECT_TRUE(shaped(of_threads("store @x[%2] = 1.0"), {.strides = true}).grid.strides) << "the launch needs it";
}

TEST(ShapeLaunch, TwoLargeBlocksShareAMultiprocessor) {
  const ir::Kernel two = shaped(of_block(1024, 1000), {.axes = true});
  EXPECT_EQ(two.grid.blocks_at_once, 2);
  EXPECT_TRUE(two.grid.axes);
  EXPECT_FALSE(shaped(of_block(1024, 1000), {.strides = true, .axes = true}).grid.axes);
  EXPECT_EQ(shaped(of_block(1024, 40'000)).grid.blocks_at_once, 0) << "there is no room for two";
  EXPECT_EQ(shaped(of_block(1024, 1000), {.debug = true}).grid.blocks_at_once, 0);
  // It spilled; the step runs again.
  const ir::Kernel one = shaped(two, {.axes = true, .two_blocks = false});
  EXPECT_EQ(one.grid.blocks_at_once, 0);
  EXPECT_FALSE(one.grid.axes);
}

TEST(ShapeLaunch, AsManyBlocksAsSharedMemoryHasRoomFor) {
  EXPECT_EQ(shaped(of_block(128, 32 << 10)).grid.blocks_at_once, 1) << "128 KiB of 227";
  EXPECT_EQ(shaped(of_block(128, 24 << 10)).grid.blocks_at_once, 2) << "96 KiB";
  EXPECT_EQ(shaped(of_block(128, 8 << 10)).grid.blocks_at_once, 0) << "registers are the limit";
}

TEST(ShapeLaunch, RolesDivideTheRegisters) {
  using namespace test::product_loops;
  const auto planned = [](int threads) {
    const ProductShape shape{.rows = 128, .columns = 256, .inner = 64, .threads = threads, .stages = 3};
    return jit::plan(lowered(kernel_text(shape)), {gpu_architecture(90), FactsOfArrays(5, good)});
  };
  const ir::Kernel kernel = planned(256);
  EXPECT_TRUE(kernel.grid.persistent);
  EXPECT_TRUE(kernel.grid.strides);
  EXPECT_EQ(kernel.grid.blocks_at_once, 1) << "the assembler must know it";
  EXPECT_EQ(kernel.roles.registers.producing, 24);
  EXPECT_EQ(kernel.roles.registers.multiplying, 240);
  EXPECT_THAT(ir::to_string(kernel), HasSubstr("strides persistent at_once 1 {"));
  EXPECT_THAT(ir::to_string(kernel), HasSubstr("producing 128 registers 24, 240 {"));
}

TEST(ShapeLaunch, WhatNoGpuHasIsFound) {
  const auto expect_found = [](const std::string &words) {
    EXPECT_THROW(ir::verify(ir::parse_kernel("kernel @k() blocks 2 of 128 " + words), ir::Form::lowered, "the test"),
                 InternalError)
        << words;
  };
  expect_found("strides persistent { }");
  expect_found("strides axes { }");
  expect_found("teams 2 equal { }");
  expect_found("{ } producing 128 registers 24, 250 { }");
  expect_found("{ } producing 128 registers 24, 20 { }");
}

}  // namespace
}  // namespace samite::passes::shape_launch_test
