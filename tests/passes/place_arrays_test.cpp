// Which local arrays are on the stack.
#include "samite/passes/threads/place_arrays.h"

#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"
#include "samite/passes/threads/sum_over_launch.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using namespace ir;
using ::testing::HasSubstr;
using ::testing::Not;

std::string placed(const std::string &body, const Architecture &architecture, const std::string &kind = "threads 1") {
  Kernel kernel = parse_kernel("kernel @k(@x: array<f32, 1>, @n: i32) " + kind + " {\n" + body + "\n}");
  kernel = place_arrays(std::move(kernel), architecture);
  verify(kernel, Form::lowered, "place_arrays");
  EXPECT_EQ(uses_workspace(kernel), to_string(kernel).find("workspace") != std::string::npos ||
                                        to_string(kernel).find("local device") != std::string::npos);
  return to_string(kernel);
}

TEST(PlaceArrays, SmallOnesAreOnTheStack) {
  EXPECT_THAT(placed("local $0: f32[256]", gpu_architecture(90)), HasSubstr("local $0"));
  EXPECT_THAT(placed("local $0: f32[257]", gpu_architecture(90)), HasSubstr("local workspace $0"));
  EXPECT_THAT(placed("local $0: f32[256]", cpu_architecture()), HasSubstr("local $0"));
  EXPECT_THAT(placed("local $0: f32[257]", cpu_architecture()), HasSubstr("local workspace $0"));
  EXPECT_THAT(placed("local $0: f32[-3]", cpu_architecture()), HasSubstr("local $0"));
}

TEST(PlaceArrays, OfConstantIndicesTheElementsInUseCount) {
  const std::string few =
      "local $0: f32[300] local_store $0[0] = 1.0 local_store $0[299] = 2.0 %0: f32 = local_load $0[7] store @x[0] = "
      "%0";
  EXPECT_THAT(placed(few, gpu_architecture(90)), Not(HasSubstr("workspace")));
  EXPECT_THAT(placed(few, cpu_architecture()), HasSubstr("local workspace $0"));
  EXPECT_THAT(placed(few + " local_store $0[@n] = 3.0", gpu_architecture(90)), HasSubstr("local workspace $0"));
  const auto stores = [](int count) {
    std::string text = "local $0: f32[300] ";
    for (int i = 0; i < count; ++i) text += "local_store $0[" + std::to_string(i) + "] = 1.0 ";
    return text;
  };
  EXPECT_THAT(placed(stores(256), gpu_architecture(90)), Not(HasSubstr("workspace")));
  EXPECT_THAT(placed(stores(257), gpu_architecture(90)), HasSubstr("local workspace $0"));
}

TEST(PlaceArrays, TogetherTheyTakeTheirShareOfTheStack) {
  const std::string five = "local $0: f32[256] local $1: f32[256] local $2: f32[256] local $3: f32[256] ";
  EXPECT_THAT(placed(five + "local $4: f32[1]", gpu_architecture(90)),
              AllOf(HasSubstr("local $3"), HasSubstr("local workspace $4")));
}

TEST(PlaceArrays, SizesOfALaunchAreInTheWorkspace) {
  EXPECT_THAT(placed("local $0: f32[@n]", gpu_architecture(90)), HasSubstr("local workspace $0"));
}

TEST(PlaceArrays, ElementsOf16BitsTake32) {
  EXPECT_THAT(placed("local $0: f16[256]", gpu_architecture(90)), HasSubstr("local $0"));
  EXPECT_THAT(placed("local $0: f16[257]", gpu_architecture(90)), HasSubstr("local workspace $0"));
}

TEST(PlaceArrays, TilesOfAThreadOfTheCpu) {
  const std::string tiles = "local shared $0: f32[16384] local shared $1: f32[16385] local shared $2: f32[@n]";
  const std::string text = placed(tiles, cpu_architecture(), "blocks 1 of 64");
  EXPECT_THAT(text, AllOf(HasSubstr("local shared $0"), HasSubstr("local device $1"), HasSubstr("local device $2")));
  EXPECT_THAT(placed("local shared $1: f32[16385] local device $2: f32[@n]", gpu_architecture(90), "blocks 1 of 64"),
              AllOf(HasSubstr("local shared $1"), HasSubstr("local device $2")));
}

std::string summed(const std::string &body) {
  Kernel kernel = parse_kernel(
      "kernel @k(@x: array<f32, 1>, @n: i32) threads 1 {\n%0: i32 = launch_begin 0 "
      "%1: i32 = launch_end 0 for.thread %2: i32 in %0 .. %1 step 1 {" +
      body + "}\n}");
  kernel = sum_over_launch(std::move(kernel));
  verify(kernel, Form::lowered, "sum_over_launch");
  EXPECT_EQ(sums_over_launch(kernel), to_string(kernel).find("over_launch") != std::string::npos);
  return to_string(kernel);
}

TEST(SumOverLaunch, WhatAllInstancesAddToOneElement) {
  EXPECT_THAT(summed("accumulate atomic @x[@n] += 1.0"), HasSubstr("over_launch @x"));
  EXPECT_THAT(summed("if true { accumulate atomic @x[0] += 1.0 }"), HasSubstr("over_launch @x"));
}

TEST(SumOverLaunch, NotElementsOfEachInstance) {
  EXPECT_THAT(summed("accumulate atomic @x[%2] += 1.0"), Not(HasSubstr("over_launch")));
  EXPECT_THAT(summed("%3: i32 = rem %2, 2 accumulate atomic @x[%3] += 1.0"), Not(HasSubstr("over_launch")));
}

// A reader of the element could observe when it was added to.
TEST(SumOverLaunch, NotWhereSomethingElseTouchesTheArray) {
  EXPECT_THAT(summed("accumulate atomic @x[0] += 1.0 %3: f32 = load @x[1]"), Not(HasSubstr("over_launch")));
  EXPECT_THAT(summed("accumulate atomic @x[0] += 1.0 store @x[1] = 1.0"), Not(HasSubstr("over_launch")));
  EXPECT_THAT(summed("accumulate @x[0] += 1.0"), Not(HasSubstr("over_launch")));
}

}  // namespace
}  // namespace samite::passes
