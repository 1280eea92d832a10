// The blocks that have producer threads, and the code of these.
#include "samite/passes/sm90/assign_roles.h"

#include "samite/jit/pipeline.h"
#include "samite/passes/tiles/plan_tile_memory.h"
#include "tests/passes/product_loop_kernel.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using namespace test::product_loops;
using ::testing::HasSubstr;

ir::Kernel with_roles(const std::string &text) {
  return jit::plan(lowered(text), {gpu_architecture(90), FactsOfArrays(5, good)});
}

const ProductShape large{.rows = 64, .columns = 256, .inner = 64};

TEST(AssignRoles, AGroupOfFourWarpsStartsTheCopies) {
  const ir::Kernel kernel = with_roles(kernel_text(large));
  ir::verify(kernel, ir::Form::lowered, "plan");
  EXPECT_EQ(kernel.roles.producers, 128);
  ASSERT_FALSE(kernel.roles.producing.empty());
  ir::Kernel producing = kernel;
  producing.body = kernel.roles.producing;
  const auto copies = test::all<ir::MainLoop>(producing), products = test::all<ir::MainLoop>(kernel);
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].role, ir::ThreadRole::producers);
  ASSERT_EQ(products.size(), 1u);
  EXPECT_EQ(products[0].role, ir::ThreadRole::consumers);
  // Only the code that leads to the copies.
  EXPECT_TRUE(test::all<ir::Store>(producing).empty());
  EXPECT_TRUE(test::all<ir::Barrier>(producing).empty());
  for (const ir::Barrier &barrier : test::all<ir::Barrier>(kernel)) EXPECT_EQ(barrier.threads, 128);
  const std::string text = ir::to_string(kernel);
  EXPECT_THAT(text, HasSubstr("producing 128 {"));
  EXPECT_EQ(ir::to_string(ir::parse_kernel(text)), text);
}

// Threads that start copies give registers to those that multiply, as far as a multiprocessor has 64 Ki of them.
TEST(AssignRoles, RegistersGoToWhoMultiplies) {
  ir::Kernel kernel = ir::parse_kernel("kernel @k() blocks 1 of 256 { }");
  EXPECT_FALSE(registers_of_roles(kernel)) << "no roles";
  kernel.roles.producers = 128;
  for (const int threads : {256, 384}) {
    kernel.block_threads = threads;
    const auto registers = registers_of_roles(kernel);
    ASSERT_TRUE(registers);
    EXPECT_LT(registers->producing, registers->multiplying);
    EXPECT_LE(registers->producing * 128 + registers->multiplying * threads, 64 << 10);
  }
  kernel.block_threads = 128;
  EXPECT_FALSE(registers_of_roles(kernel));
}

// The buffers are written to while consumers run the code before and after the loop.
TEST(AssignRoles, NothingSharesTheMemoryOfTheCopies) {
  std::string text = kernel_text(large);
  text.insert(text.rfind("store"), "%50: tile<f32, 256, 64> = transpose(1, 0) %6 store @c[@n, 0] = %50 ");
  const TileMemoryPlan plan = plan_tile_memory(with_roles(text));
  EXPECT_GT(plan.tiles.size(), 3u);
  for (const PlacedTile &a : plan.tiles)
    for (const PlacedTile &b : plan.tiles) {
      if (&a == &b || a.stages == 1) continue;
      EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset) << plan.to_string();
    }
}

TEST(AssignRoles, NotWhereTheOthersDecideWhatIsCopied) {
  // The loop's end is read from an array.
  std::string text = kernel_text(large);
  text.replace(text.find("0 .. @n"), 7, "0 .. %60");
  text.insert(text.find("for %1"), "%59: f32 = load @c[0, 0] %60: i32 = cast %59 ");
  const ir::Kernel kernel = with_roles(text);
  EXPECT_EQ(kernel.roles.producers, 0);
  ASSERT_EQ(test::all<ir::MainLoop>(kernel).size(), 1u);
  EXPECT_EQ(test::all<ir::MainLoop>(kernel)[0].role, ir::ThreadRole::all);
}

// Producers read arrays that are never written in the same way as consumers.
TEST(AssignRoles, AnArrayThatIsOnlyReadMayDecideWhatIsCopied) {
  std::string text = kernel_text(large);
  text.replace(text.find("0 .. @n"), 7, "0 .. %60");
  text.insert(text.find("for %1"), "%59: f16 = load @a[0, 0] %60: i32 = cast %59 ");
  const ir::Kernel kernel = with_roles(text);
  EXPECT_EQ(kernel.roles.producers, 128);
  ir::Kernel producing = kernel;
  producing.body = kernel.roles.producing;
  EXPECT_THAT(ir::to_string(producing), HasSubstr("load @a[0, 0]"));

  FactsOfArrays may_alias(5, good);
  may_alias[0].unaliased = false;
  EXPECT_EQ(jit::plan(lowered(text), {gpu_architecture(90), may_alias}).roles.producers, 0);
}

TEST(AssignRoles, NotWhereAMultiprocessorHasRoomForSeveral) {
  EXPECT_EQ(with_roles(kernel_text({.rows = 64, .columns = 64, .inner = 64})).roles.producers, 0);
  // Sums in 128 registers of each of 256 threads.
  EXPECT_EQ(
      with_roles(kernel_text({.rows = 128, .columns = 256, .inner = 64, .threads = 256, .stages = 2})).roles.producers,
      128);
}

TEST(AssignRoles, NotWhereACallWaitsForTheWholeBlock) {
  const auto producers = [](const std::string &call) {
    std::string text = kernel_text(large);
    text.insert(text.rfind("store"), call + " store @c[@n, 0] = %51 ");
    return with_roles(text).roles.producers;
  };
  EXPECT_EQ(producers("%51: tile<f32, 64, 256> = scan_add 1, %6"), 0);
  EXPECT_EQ(producers("%51: tile<f32, 64, 1> = reduce_add %6"), 128) << "warps have whole rows";
  EXPECT_EQ(producers("%51: tile<f32, 1, 256> = reduce_add %6"), 128)
      << "they have parts of each column, and wait for those who have others";
}

// Under a condition, and in a loop around the loop of products, each time again.
TEST(AssignRoles, DoWhatTheStructuredFormDoes) {
  const std::string plain = kernel_text(large);
  test::product_loops::expect_as_structured(large, with_roles(plain), plain, 200, 3, 2);
  test::product_loops::expect_as_structured(large, with_roles(plain), plain, 200, 0, 2);
  const ProductShape scaled{.rows = 128, .columns = 128, .inner = 64, .threads = 256, .stages = 4, .halved = true};
  const std::string steps = kernel_text(scaled);
  const ir::Kernel in_steps = with_roles(steps);
  EXPECT_EQ(in_steps.roles.producers, 128);
  for (const int count : {0, 1, 3, 9})
    test::product_loops::expect_as_structured(scaled, in_steps, steps, 300, count, 2);
  std::string nested = plain;
  nested.insert(nested.find("for %1"), "for %70: i32 in 0 .. 3 step 1 { %71: bool = lt %70, 2 if %71 { ");
  nested.insert(nested.rfind("}"), "} } ");
  const ir::Kernel plan = with_roles(nested);
  EXPECT_EQ(plan.roles.producers, 128);
  test::product_loops::expect_as_structured(large, plan, nested, 200, 2, 2);
}

}  // namespace
}  // namespace samite::passes
