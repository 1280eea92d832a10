// In which kernels the blocks of a cluster share the steps of a loop of products.
#include "samite/passes/sm90/share_steps.h"

#include "samite/base/error.h"
#include "samite/jit/pipeline.h"
#include "tests/passes/product_loop_kernel.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using namespace test::product_loops;
using ::testing::HasSubstr;

// Block (i, j) multiplies rows i of a by columns j of b. `before` the loop; `after` it its sums are %6.
std::string text_of(const std::string &before = "", const std::string &sums = "0.0", std::int64_t columns = 128,
                    int stages = 6, const std::string &after = "store @c[%2, %3] = %6") {
  return fmt::format(
      "kernel @k(@a: array<const f16, 2>, @b: array<const f16, 2>, @x: array<const f32, 2>, @c: array<f32, 2>, @n: "
      "i32) blocks 2 of 128 {{ %0: i32 = thread_index 0 %1: i32 = thread_index 1 %2: i32 = mul %0, 128 %3: i32 = mul "
      "%1, {2} {0} for %4: i32 in 0 .. @n step 1 stages {3} carry (%5 -> %6: tile<f32, 128, {2}> = {1}:tile<f32, 128, "
      "{2}> then %10) {{ %7: i32 = mul %4, 64 %8: tile<f16, 128, 64> = load @a[%2, %7] %9: tile<f16, {2}, 64> = load "
      "@b[%3, %7] %10: tile<f32, 128, {2}> = matmul %8, transposed %9, %5 }} {4} }}",
      before, sums, columns, stages, after);
}

ir::Kernel shared_plan(const std::string &text, std::int64_t parts = 4, int capability = 90) {
  ir::Kernel kernel =
      jit::plan(lowered(text), {gpu_architecture(capability), FactsOfArrays(6, good), {.step_parts = parts}});
  ir::verify(kernel, ir::Form::lowered, "plan");
  return kernel;
}
int parts_of(const std::string &text, std::int64_t parts = 4) { return shared_plan(text, parts).grid.step_parts; }

TEST(ShareSteps, InAsManyPartsAsAClusterHasBlocks) {
  for (int parts = 2; parts <= 8; ++parts) EXPECT_EQ(parts_of(text_of(), parts), parts);
  for (const int parts : {0, 1, 9}) EXPECT_EQ(parts_of(text_of(), parts), 0);
  for (const int capability : {80, 89, 100, 120}) EXPECT_EQ(shared_plan(text_of(), 4, capability).grid.step_parts, 0);
  EXPECT_EQ(parts_of(text_of("", "0.0", 64, 3)), 4) << "of threads without roles";
}

TEST(ShareSteps, PrintsAndParses) {
  const std::string text = to_string(shared_plan(text_of()));
  EXPECT_THAT(text, HasSubstr("of 128 parts 4"));
  EXPECT_EQ(to_string(ir::parse_kernel(text)), text);
  std::string wrong = text;
  wrong.replace(wrong.find("parts 4"), 7, "parts 1");
  EXPECT_THROW(ir::verify(ir::parse_kernel(wrong), ir::Form::lowered, "test"), InternalError);
}

// Each block of the cluster would repeat the code before the loop, and add the sums' initial values.
TEST(ShareSteps, NotWhereThatWouldBeDoneAgain) {
  EXPECT_EQ(parts_of(text_of("%11: tile<f32, 128, 1> = load @x[%2, 0] ", "0.0", 128, 6,
                             "%12: tile<f32, 128, 128> = broadcast %11 %13: tile<f32, 128, 128> = mul %6, %12 "
                             "store @c[%2, %3] = %13")),
            4);
  EXPECT_EQ(parts_of(text_of("", "1.0")), 0);
  EXPECT_EQ(parts_of(text_of("store @c[%2, %3] = 1.0:tile<f32, 128, 128> ")), 0);
  EXPECT_EQ(parts_of(text_of("%11: tile<f32, 8, 1> = load @x[%2, 0] store @c[0, 0] = %11 ")), 0);
}

// If all blocks add to one element, each processes several tiles.
TEST(ShareSteps, NotWhereBlocksHaveSeveralIndices) {
  EXPECT_EQ(parts_of(text_of("", "0.0", 128, 6,
                             "%11: f32 = reduce_add %6 accumulate atomic @c[0, 0] += %11 store @c[%2, %3] = %6")),
            0);
}

TEST(ShareSteps, NotOfLoopsInOthers) {
  std::string inside = text_of();
  inside.insert(inside.find("for %4"), "for %11: i32 in 0 .. 2 step 1 { ");
  inside.insert(inside.rfind("}"), "} ");
  EXPECT_EQ(parts_of(inside), 0);
}

// No part is empty, all clusters have room, and the steps that each saves are worth the cost of a cluster.
TEST(ShareSteps, InHowManyParts) {
  EXPECT_EQ(parts_of_steps(64, 64, 132), 2);
  EXPECT_EQ(parts_of_steps(32, 64, 132), 3);
  EXPECT_EQ(parts_of_steps(16, 256, 132), 6);
  EXPECT_EQ(parts_of_steps(8, 512, 132), 8);
  EXPECT_EQ(parts_of_steps(1, 512, 132), 8);
  EXPECT_EQ(parts_of_steps(67, 1 << 20, 132), 1) << "most multiprocessors have a block";
  EXPECT_EQ(parts_of_steps(64, 31, 132), 1) << "soon done";
  for (const int multiprocessors : {1, 20, 84, 114, 132, 144})
    for (std::int64_t blocks = 0; blocks < 160; ++blocks)
      for (std::int64_t steps = 0; steps < 150; ++steps) {
        const std::int64_t parts = parts_of_steps(blocks, steps, multiprocessors), each = (steps + parts - 1) / parts;
        ASSERT_GE(parts, 1);
        if (parts == 1) continue;
        ASSERT_LE(parts, most_step_parts);
        ASSERT_GT(blocks, 0);
        ASSERT_LE(parts * blocks, multiprocessors);
        ASSERT_LT((parts - 1) * each, steps) << blocks << ' ' << steps;
        ASSERT_GE(steps - each, 16);
      }
}

}  // namespace
}  // namespace samite::passes
