// How rows of attention are cut into tiles.
#include "samite/ops/attention_plan.h"
#include "tests/ops/plan_devices.h"

#include <gtest/gtest.h>

#include <bit>

namespace samite::ops::detail {
namespace {

AttentionPlan plan(std::int64_t rows, std::int64_t terms, const PlanDevice &device,
                   ScalarType type = ScalarType::Float32, Direction direction = Direction::forward) {
  return attention_plan(type, {1, 1, rows, 64, terms}, false, device, direction);
}

TEST(AttentionPlan, OnCudaTilesDependOnTheTypeAndTheDirection) {
  const auto adjoint = Direction::adjoint;
  EXPECT_EQ(plan(1, 1, hopper), (AttentionPlan{64, 64, 64, 128, false, 2}));
  EXPECT_EQ(plan(1, 1, hopper, ScalarType::Float32, adjoint), (AttentionPlan{32, 32, 64, 128, false, 1}));
  EXPECT_EQ(plan(1, 1, hopper, ScalarType::Float64), (AttentionPlan{32, 32, 64, 128, false, 1}));
  for (const auto direction : {Direction::forward, adjoint}) {
    EXPECT_EQ(plan(4096, 4096, hopper, ScalarType::BFloat16, direction),
              (AttentionPlan{64, 64, 64, 128, false, direction == adjoint ? 1 : 2}));
    EXPECT_EQ(attention_plan(ScalarType::Float16, {1, 1, 70, 100, 70}, true, hopper, direction),
              (AttentionPlan{64, 64, 112, 256, true, 2}));
  }
}

// Of 128 rows, where there are as many tiles as multiprocessors, and shared memory for them.
TEST(AttentionPlan, LargeTilesOnHopper) {
  const AttentionShape many{1, 16, 2048, 128, 2048}, few{1, 4, 2048, 128, 2048}, wide{1, 16, 2048, 192, 2048};
  const auto rows = [](const AttentionShape &shape, const PlanDevice &device, Direction direction) {
    return attention_plan(ScalarType::BFloat16, shape, false, device, direction).queries;
  };
  EXPECT_EQ(rows(many, hopper, Direction::forward), 128);
  EXPECT_EQ(rows(many, hopper, Direction::adjoint), 64);
  EXPECT_EQ(rows(few, hopper, Direction::forward), 64);
  EXPECT_EQ(rows(wide, hopper, Direction::forward), 64);
  EXPECT_EQ(rows(many, {80, 108}, Direction::forward), 64);
}

TEST(AttentionPlan, OnTheCpuTilesHaveUpTo64Rows) {
  EXPECT_EQ(plan(256, 256, cpu), (AttentionPlan{64, 64, 64, 32, false}));
  EXPECT_EQ(plan(64, 64, cpu, ScalarType::BFloat16), (AttentionPlan{64, 64, 64, 32, false}));
}

TEST(AttentionPlan, OnTheCpuOneQueryIsATile) {
  EXPECT_EQ(plan(1, 2000, cpu).queries, 1);
  EXPECT_EQ(plan(1, 2000, cpu).keys, 64);
  EXPECT_EQ(plan(3, 1, cpu), (AttentionPlan{4, 16, 64, 32, false}));
  EXPECT_EQ(plan(0, 0, cpu), (AttentionPlan{1, 16, 64, 32, false}));
}

// 65 rows are two tiles of 40, where 64 would be 128.
TEST(AttentionPlan, OnTheCpuFewRowsAreBeyondTheLast) {
  EXPECT_EQ(plan(65, 65, cpu), (AttentionPlan{40, 48, 64, 32, false}));
  for (std::int64_t rows = 1; rows < 1000; ++rows) {
    const AttentionPlan chosen = plan(rows, rows, cpu);
    ASSERT_LE(chosen.queries, 64) << rows;
    ASSERT_LE(chosen.keys, 64) << rows;
    ASSERT_TRUE(chosen.queries % 8 == 0 || std::has_single_bit(static_cast<unsigned>(chosen.queries))) << rows;
    ASSERT_EQ(chosen.keys % 16, 0) << rows;
    const std::int64_t tiles = (rows + 63) / 64;
    ASSERT_GE(tiles * chosen.queries, rows);
    ASSERT_LT(tiles * chosen.queries, rows + tiles * 8) << rows;
    ASSERT_GE(tiles * chosen.keys, rows);
    ASSERT_LT(tiles * chosen.keys, rows + tiles * 16) << rows;
  }
}

TEST(AttentionPlan, NumbersOfARowAreMultiplesOf16) {
  for (const PlanDevice &device : {hopper, cpu})
    for (const std::int64_t size : {0, 1, 16, 17, 255, 256})
      EXPECT_EQ(attention_plan(ScalarType::Float32, {1, 1, 8, size, 8}, false, device, Direction::forward).size,
                std::max<std::int64_t>(16, (size + 15) / 16 * 16));
}

}  // namespace
}  // namespace samite::ops::detail
