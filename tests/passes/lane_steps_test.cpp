#include "samite/passes/analysis/lane_steps.h"

#include "samite/ir/parse.h"

#include <gtest/gtest.h>

namespace samite::passes {
namespace {

using Steps = std::vector<std::optional<std::int64_t>>;
constexpr std::nullopt_t unknown = std::nullopt;

// The steps of locals 0 and up of a kernel over @in and @n, whose thread index is %0.
Steps steps(const std::string &body) {
  const ir::Kernel kernel = ir::parse_kernel(
      "kernel @k(@in: array<const i32, 1>, @n: i32) threads 1 {\n%0: i32 = thread_index 0\n" + body + "\n}");
  return lane_steps(kernel, uniformity(kernel));
}

TEST(LaneSteps, AreThoseOfSumsAndMultiples) {
  EXPECT_EQ(steps(R"(%1: i32 = mul %0, 2
                     %2: i32 = add %1, @n
                     %3: i32 = sub %2, %0
                     %4: i32 = shl %2, 3
                     %5: i32 = sub @n, %0
                     %6: i32 = add @n, 1)"),
            (Steps{1, 2, 2, 1, 16, -1, 0}));
}

TEST(LaneSteps, OfTheRestAreNotKnown) {
  EXPECT_EQ(steps(R"(%1: i32 = mul %0, @n
                     %2: i32 = shr %0, 1
                     %3: i32 = load @in[%0]
                     %4: i32 = add %3, 1
                     %5: i32 = mul %0, %0
                     %6: i32 = max %0, 0)"),
            (Steps{1, unknown, unknown, unknown, unknown, unknown, unknown}));
}

// In u32 a lane may wrap around where its neighbour does not.
TEST(LaneSteps, AreOfSignedIntegers) {
  EXPECT_EQ(steps(R"(%1: u32 = cast %0
                     %2: u32 = mul %1, 2
                     %3: f32 = cast %0
                     %4: f32 = add %3, %3)"),
            (Steps{1, unknown, unknown, unknown, unknown}));
}

// For locals 0 and up, as above.
std::vector<bool> pairs(const std::string &body) {
  const ir::Kernel kernel = ir::parse_kernel(
      "kernel @k(@in: array<const i32, 1>, @n: i32) threads 1 {\n%0: i32 = thread_index 0\n" + body + "\n}");
  return in_pairs_of_lanes(kernel, lane_steps(kernel, uniformity(kernel)));
}

TEST(LaneSteps, HalvesOfNeighboursAreInPairs) {
  EXPECT_EQ(pairs(R"(%1: i32 = add %0, @n
                     %2: i32 = shr %1, 1
                     %3: i32 = sub %2, 1
                     %4: i32 = add @n, %3)"),
            (std::vector<bool>{false, false, true, true, true}));
}

TEST(LaneSteps, WhatGrowsOtherwiseIsNotInPairs) {
  EXPECT_EQ(pairs(R"(%1: i32 = shr %0, 2
                     %2: i32 = mul %0, 2
                     %3: i32 = shr %2, 1
                     %4: i32 = shr %0, 1
                     %5: i32 = sub @n, %4
                     %6: i32 = add %4, %4
                     %7: i32 = add %4, %0
                     %8: i32 = shr %0, @n
                     %9: u32 = cast %0
                     %10: u32 = shr %9, 1)"),
            (std::vector<bool>{false, false, false, false, true, false, false, false, false, false, false}));
}

// For locals 0 and up, as above: the local that is clamped.
std::vector<std::optional<ir::LocalId>> clamped(const std::string &body) {
  const ir::Kernel kernel = ir::parse_kernel(
      "kernel @k(@in: array<const i32, 1>, @n: i32) threads 1 {\n%0: i32 = thread_index 0\n" + body + "\n}");
  std::vector<std::optional<ir::LocalId>> locals;
  for (const std::optional<ir::Value> &value : clamped_lanes(kernel, uniformity(kernel)))
    locals.push_back(value ? std::optional(value->id()) : std::nullopt);
  return locals;
}

TEST(LaneSteps, ClampedIndicesAreNeighboursButForLimits) {
  using Locals = std::vector<std::optional<ir::LocalId>>;
  EXPECT_EQ(clamped(R"(%1: i32 = add %0, 1
                       %2: i32 = min %1, @n
                       %3: i32 = max 0, %2
                       %4: i32 = add %3, 1)"),
            (Locals{unknown, unknown, 1, 1, unknown}));
  // A limit that differs between lanes; a stride of two; a shift by which lanes may wrap around.
  EXPECT_EQ(clamped(R"(%1: i32 = load @in[%0]
                       %2: i32 = max %0, %1
                       %3: i32 = mul %0, 2
                       %4: i32 = max %3, 0
                       %5: i32 = add %0, @n
                       %6: i32 = max %5, 0)"),
            (Locals{unknown, unknown, unknown, unknown, unknown, unknown, unknown}));
}

}  // namespace
}  // namespace samite::passes
