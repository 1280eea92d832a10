#include "samite/passes/analysis/uniformity.h"

#include "samite/ir/parse.h"
#include "samite/ir/visit.h"

#include <gtest/gtest.h>

namespace samite::passes {
namespace {

constexpr Shape U = Shape::Uniform, L = Shape::Linear, V = Shape::Varying;

// The shapes of locals 0 and up of a kernel over @out, @in and @n, whose thread index is %0.
std::vector<Shape> shapes(const std::string &body) {
  ir::Kernel kernel = ir::parse_kernel(
      "kernel @k(@out: array<i32, 1>, @in: array<const i32, 1>, @n: i32) threads 1 {\n%0: i32 = thread_index 0\n" +
      body + "\n}");
  const Uniformity result = uniformity(kernel);
  std::vector<Shape> all;
  for (ir::LocalId local = 0; local < kernel.local_count; ++local) all.push_back(result.of(local));
  return all;
}

TEST(Uniformity, Arithmetic) {
  EXPECT_EQ(shapes(R"(%1: i32 = add %0, @n
                      %2: i32 = sub %1, 3
                      %3: i32 = sub %1, %0
                      %4: i32 = mul %0, 2
                      %5: i32 = add %0, %1
                      %6: i32 = sub @n, %0
                      %7: u32 = cast %1
                      %8: f32 = cast @n)"),
            (std::vector{L, L, L, U, V, V, V, V, U}));
}

// A sum with an argument may wrap in some lanes and not in others; one with a small constant does not.
TEST(Uniformity, WhatMayWrapInSomeLanesIsWidenedInEach) {
  EXPECT_EQ(shapes(R"(%1: i32 = add %0, @n
                      %2: i64 = cast %1
                      %3: i32 = add %0, 3
                      %4: i64 = cast %3
                      %5: i32 = add %0, 100000
                      %6: i64 = cast %5
                      %7: i32 = cast %4
                      %8: i64 = add %4, 1)"),
            (std::vector{L, L, V, L, L, L, V, L, L}));
}

TEST(Uniformity, LinearValuesAreComparedOnceWhereNoLaneWraps) {
  EXPECT_EQ(shapes(R"(%1: i32 = add %0, @n
                      %2: bool = lt %0, %1
                      %3: bool = eq %0, %1
                      %4: i32 = sub %0, 7
                      %5: bool = lt %4, %0
                      %6: bool = lt %0, @n)"),
            (std::vector{L, L, V, U, L, U, V}));
}

TEST(Uniformity, AWindowThatMayWrapInSomeLanesHasOtherTripsThere) {
  const std::string loop = "for %2: i32 in %0 .. %1 step 1 carry (%3 -> %4: i32 = 0 then %5) { %5: i32 = add %3, 1 }";
  EXPECT_EQ(shapes("%1: i32 = add %0, 3\n" + loop), (std::vector{L, L, L, U, U, U}));
  EXPECT_EQ(shapes("%1: i32 = add %0, @n\n" + loop), (std::vector{L, L, L, U, V, U}));
}

// A value that a loop adds to moves further from the index with each iteration.
TEST(Uniformity, WhatALoopAddsToMayWrap) {
  EXPECT_EQ(shapes(R"(for %1: i32 in 0 .. @n step 1 carry (%2 -> %3: i32 = %0 then %4) { %4: i32 = add %2, 1 }
                      %5: i64 = cast %3)"),
            (std::vector{L, U, L, L, L, V}));
}

TEST(Uniformity, ALoadIsAsItsIndicesAre) {
  EXPECT_EQ(shapes(R"(%1: i32 = load @in[@n]
                      %2: i32 = load @in[%0]
                      %3: i32 = load @in[%2]
                      %4: i32 = exchange @out[@n])"),
            (std::vector{L, U, V, V, V}));
}

TEST(Uniformity, OnlyTheLastDimensionHasLanes) {
  ir::Kernel kernel = ir::parse_kernel(R"(kernel @k() threads 2 {
    %0: i32 = thread_index 0
    %1: i32 = thread_index 1
  })");
  EXPECT_EQ(uniformity(kernel).of(0), U);
  EXPECT_EQ(uniformity(kernel).of(1), L);
}

TEST(Uniformity, ResultsOfABranchFollowItsCondition) {
  EXPECT_EQ(shapes(R"(%1: bool = lt @n, 3
                      %2: bool = lt %0, 3
                      if %1 -> (%3: i32 = 1 | 2, %4: i32 = %0 | 2) {}
                      if %2 -> (%5: i32 = 1 | 2) {})"),
            (std::vector{L, U, V, U, V, V}));
}

TEST(Uniformity, LanesAgreeOnTheIndexOfALoopThatTheyLeaveAtDifferentTimes) {
  EXPECT_EQ(shapes(R"(%1: i32 = load @in[%0]
                      for %2: i32 in 0 .. %1 step 1 carry (%3 -> %4: i32 = 0 then %5) {
                        %5: i32 = add %3, %2
                      })"),
            (std::vector{L, V, U, U, V, U}));
}

TEST(Uniformity, LanesThatStartLateShareTheIndexAndNothingThatTheLoopCarries) {
  EXPECT_EQ(shapes(R"(%1: i32 = load @in[%0]
                      for %2: i32 in %1 .. -1 step -1 carry (%3 -> %4: i32 = 0 then %5) { %5: i32 = add %3, 1 }
                      for %6: i32 in %1 .. @n step 1 {}
                      for %7: i32 in %1 .. @n step 2 {}
                      for %8: i32 in %1 .. %0 step 1 {}
                      for %9: i32 in %0 .. @n step 1 {})"),
            (std::vector{L, V, U, V, V, V, U, V, V, L}));
}

TEST(Uniformity, AWindowAroundTheIndexHasTheSameTripsInEveryLane) {
  const char *text = R"(kernel @k(@out: array<i32, 1>) threads 1 {
    %0: i32 = thread_index 0
    %1: i32 = sub %0, 2
    %2: i32 = add %0, 3
    for %3: i32 in %1 .. %2 step 1 carry (%4 -> %5: i32 = 0 then %6) {
      %6: i32 = add %4, 1
    }
  })";
  ir::Kernel kernel = ir::parse_kernel(text);
  const Uniformity result = uniformity(kernel);
  EXPECT_EQ(result.of(3), L);
  EXPECT_EQ(result.of(5), U);
  EXPECT_FALSE(result.divergent(*kernel.body.back().as<ir::For>()));
}

TEST(Uniformity, ACarriedValueBecomesVaryingInTheSecondTrip) {
  EXPECT_EQ(shapes(R"(for %1: i32 in 0 .. @n step 1 carry (%2 -> %3: i32 = 0 then %4, %4 -> %5: i32 = 0 then %6) {
                        %6: i32 = add %2, %0
                      })"),
            (std::vector{L, U, V, V, V, V, V}));
}

TEST(Uniformity, AWhileLoopThatLanesLeaveTogether) {
  const std::string loop = R"(while carry (%2 -> %3: i32 = 0 then %5) {
                        %4: bool = lt %2, %1
                      } test %4 {
                        %5: i32 = add %2, 1
                      })";
  EXPECT_EQ(shapes("%1: i32 = copy @n\n" + loop), (std::vector{L, U, U, U, U, U}));
  EXPECT_EQ(shapes("%1: i32 = load @in[%0]\n" + loop), (std::vector{L, V, U, V, V, U}));
}

TEST(Uniformity, WhatALocalArrayHoldsVaries) {
  EXPECT_EQ(shapes(R"(local $0: i32[4]
                      local_store $0[0] = 1
                      %1: i32 = local_load $0[0])"),
            (std::vector{L, V}));
}

}  // namespace
}  // namespace samite::passes
