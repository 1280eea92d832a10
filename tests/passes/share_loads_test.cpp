// Equal loads of scheduled kernels are one, and those that stay the same are before their loop.
#include "samite/passes/pipelines/share_loads.h"

#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The body of a thread, which has @x to read, @y to write and $0 of the block.
std::string shared(const std::string &body, bool unaliased = true) {
  ir::Kernel kernel = ir::parse_kernel(
      "kernel @test(@x: array<const f32, 1>, @y: array<f32, 1>, @n: i32) blocks 1 of 32 scheduled { "
      "%0: i32 = thread_index 0 local shared $0: f32[64] for.thread %1: i32 in 0 .. 32 step 1 { " +
      body + " } }");
  const FactsOfArrays arrays(3, ArrayFacts{.unit_stride = true, .unaliased = unaliased});
  kernel = share_loads(std::move(kernel), arrays);
  ir::verify(kernel, ir::Form::lowered, "share_loads");
  return ir::to_string(kernel);
}

std::size_t count(const std::string &text, const std::string &part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(ShareLoads, EqualLoadsAreOne) {
  const std::string body = "%2: f32 = load @x[%1] %3: f32 = load @x[%1] %4: f32 = add %2, %3 store @y[%1] = %4";
  const std::string text = shared(body);
  EXPECT_EQ(count(text, "load @x"), 1u);
  EXPECT_THAT(text, HasSubstr("%4: f32 = add %2, %2"));
  EXPECT_EQ(count(shared(body, false), "load @x"), 2u) << "@y may be the same memory";
}

TEST(ShareLoads, AWrittenArrayIsLoadedAgain) {
  EXPECT_EQ(
      count(shared("%2: f32 = load @y[%1] store @y[%1] = 1.0 %3: f32 = load @y[%1] store @y[%1] = %3"), "load @y"), 2u);
}

TEST(ShareLoads, ALoadThatStaysTheSameIsBeforeALoopThatRuns) {
  const std::string text =
      shared("for %2: i32 in 0 .. 4 step 1 { %3: f32 = load @x[%1] %4: i32 = add %1, %2 store @y[%4] = %3 }");
  EXPECT_LT(text.find("load @x"), text.find("for %2"));
}

TEST(ShareLoads, ALoadInALoopThatMayNotRunStaysThere) {
  const std::string text =
      shared("for %2: i32 in 0 .. @n step 1 { %3: f32 = load @x[%1] %4: i32 = add %1, %2 store @y[%4] = %3 }");
  EXPECT_GT(text.find("load @x"), text.find("for %2"));
}

TEST(ShareLoads, MemoryOfTheBlockIsLoadedOnceInAThreadLoopThatDoesNotStoreToIt) {
  EXPECT_EQ(count(shared("%2: f32 = local_load $0[%1] %3: f32 = local_load $0[%1] %4: f32 = add %2, %3 "
                         "store @y[%1] = %4"),
                  "local_load"),
            1u);
  EXPECT_EQ(count(shared("%2: f32 = local_load $0[%1] local_store $0[%1] = 1.0 %3: f32 = local_load $0[%1] "
                         "%4: f32 = add %2, %3 store @y[%1] = %4"),
                  "local_load"),
            2u);
}

}  // namespace
}  // namespace samite::passes
