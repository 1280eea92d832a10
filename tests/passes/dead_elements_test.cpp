#include "samite/passes/pipelines/dead_elements.h"

#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The body of a thread, which has @x to read, @y to write and $0 of its own.
std::string swept(const std::string &body, const std::string &memory = "local thread $0: f32[4]") {
  ir::Kernel kernel = ir::parse_kernel(
      "kernel @test(@x: array<const f32, 1>, @y: array<f32, 1>, @n: i32) blocks 1 of 32 scheduled { "
      "%0: i32 = thread_index 0 " +
      memory + " for.thread %1: i32 in 0 .. 32 step 1 { " + body + " } }");
  kernel = remove_dead_elements(std::move(kernel));
  ir::verify(kernel, ir::Form::lowered, "remove_dead_elements");
  return ir::to_string(kernel);
}

TEST(DeadElements, SumsThatAreOnlyAddedTo) {
  const std::string text = swept(
      "local_store $0[0] = 0.0 local_store $0[1] = 0.0 "
      "for %2: i32 in 0 .. @n step 1 { %3: f32 = load @x[%2] %9: i32 = add %2, 1 %10: f32 = load @x[%9] "
      "%4: f32 = local_load $0[0] %5: f32 = add %4, %3 local_store $0[0] = %5 "
      "%6: f32 = local_load $0[1] %7: f32 = add %6, %10 local_store $0[1] = %7 } "
      "%8: f32 = local_load $0[1] store @y[%1] = %8");
  EXPECT_THAT(text, Not(HasSubstr("$0[0]")));
  EXPECT_THAT(text, Not(HasSubstr("%3"))) << "what was only added there is not loaded";
  EXPECT_THAT(text, HasSubstr("local_store $0[1] = 0.0"));
  EXPECT_THAT(text, HasSubstr("local_store $0[1] = %7"));
  EXPECT_THAT(text, HasSubstr("%10: f32 = load @x[%9]"));
}

// One element is needed for another, through others.
TEST(DeadElements, WhatNeededElementsAreMadeOfStays) {
  const std::string text = swept(
      "%2: f32 = load @x[%1] local_store $0[2] = %2 %3: f32 = local_load $0[2] local_store $0[1] = %3 "
      "%4: f32 = local_load $0[1] local_store $0[0] = %4 local_store $0[3] = %4 %5: f32 = local_load $0[0] "
      "store @y[%1] = %5");
  for (const char *element : {"local_store $0[2]", "local_store $0[1]", "local_store $0[0]"})
    EXPECT_THAT(text, HasSubstr(element));
  EXPECT_THAT(text, Not(HasSubstr("$0[3]")));
}

TEST(DeadElements, AnIndexThatIsNotConstantMayMeanEachElement) {
  const std::string stores = "local_store $0[0] = 1.0 local_store $0[1] = 2.0 ";
  EXPECT_THAT(swept(stores + "%2: f32 = local_load $0[@n] store @y[%1] = %2"), HasSubstr("$0[1] = 2.0"));
  EXPECT_THAT(swept(stores + "local_store $0[@n] = 3.0 %2: f32 = local_load $0[0] store @y[%1] = %2"),
              HasSubstr("$0[1] = 2.0"));
}

TEST(DeadElements, ConditionsBoundsAndCarriedValuesAreNeeded) {
  const std::string memory = "local thread $0: i32[4]";
  const std::string store = "local_store $0[0] = @n %2: i32 = local_load $0[0] ";
  EXPECT_THAT(swept(store + "for %3: i32 in 0 .. %2 step 1 { store @y[%3] = 1.0 }", memory), HasSubstr("$0[0] = @n"));
  EXPECT_THAT(swept(store + "%4: bool = lt %2, 3 if %4 { store @y[%1] = 1.0 }", memory), HasSubstr("$0[0] = @n"));
  EXPECT_THAT(swept(store + "for %3: i32 in 0 .. @n step 1 carry (%4 -> %6: i32 = %2 then %4) { } "
                            "%7: f32 = load @x[%6] store @y[%1] = %7",
                    memory),
              HasSubstr("$0[0] = @n"));
}

// Another buffer is the same memory at another time.
TEST(DeadElements, MemoryThatIsPartOfOtherMemoryIsNeeded) {
  const std::string text =
      swept("",
            "local shared $0: f32[4] stages 2 for %5: i32 in 0 .. 4 step 1 { local shared $1: f32[4] buffer %5 of $0 "
            "for.thread %6: i32 in 0 .. 32 step 1 { local_store $1[0] = 1.0 } }");
  EXPECT_THAT(text, HasSubstr("local_store $1[0] = 1.0"));
}

TEST(DeadElements, WhatHasAnEffectStays) {
  const std::string text = swept("%2: f32 = exchange @y[%1] %3: f32 = load @x[%1]");
  EXPECT_THAT(text, HasSubstr("exchange @y"));
  EXPECT_THAT(text, Not(HasSubstr("load @x")));
}

}  // namespace
}  // namespace samite::passes
