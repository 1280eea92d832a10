// How rows of attention are cut into tiles.
#include "samite/ops/attention_plan.h"
#include "tests/ops/plan_devices.h"

#include <gtest/gtest.h>

#include <bit>

namespace samite::ops::detail {
namespace {

AttentionPlan plan(std::int64_t rows, std::int64_t terms, const PlanDevice &device,
                   ScalarType type = ScalarType::Float32, AttentionPart part = AttentionPart::forward) {
  return attention_plan(type, {1, 1, rows, 64, terms}, false, device, part);
}

TEST(AttentionPlan, OnCudaTilesDependOnTheTypeAndTheDirection) {
  const auto adjoint = AttentionPart::of_keys;
  EXPECT_EQ(plan(1, 1, hopper), (AttentionPlan{64, 64, 64, 128, false, 2}));
  EXPECT_EQ(plan(1, 1, hopper, ScalarType::Float32, adjoint), (AttentionPlan{32, 32, 64, 128, false, 1}));
  EXPECT_EQ(plan(1, 1, hopper, ScalarType::Float64), (AttentionPlan{32, 32, 64, 128, false, 1}));
  for (const auto part : {AttentionPart::forward, adjoint}) {
    EXPECT_EQ(plan(4096, 4096, {80, 108}, ScalarType::BFloat16, part),
              (AttentionPlan{64, 64, 64, 128, false, part == adjoint ? 1 : 2}));
    EXPECT_EQ(attention_plan(ScalarType::Float16, {1, 1, 70, 100, 70}, true, {80, 108}, part),
              (AttentionPlan{64, 64, 112, 256, true, 2}));
  }
}

// Tiles of 128 rows, if there are as many, and shared memory for them.
TEST(AttentionPlan, LargeTilesOnHopper) {
  const AttentionShape many{1, 16, 2048, 128, 2048}, few{1, 4, 64, 128, 2048}, wide{1, 16, 2048, 192, 2048};
  const auto rows = [](const AttentionShape &shape, const PlanDevice &device, AttentionPart part) {
    return attention_plan(ScalarType::BFloat16, shape, false, device, part).queries;
  };
  EXPECT_EQ(rows(many, hopper, AttentionPart::forward), 128);
  EXPECT_EQ(rows(many, hopper, AttentionPart::of_queries), 128);
  EXPECT_EQ(rows(many, hopper, AttentionPart::of_keys), 64);
  const auto of_keys = [&](const AttentionShape &shape) {
    return attention_plan(ScalarType::BFloat16, shape, false, hopper, AttentionPart::of_keys).keys;
  };
  EXPECT_EQ(of_keys(many), 128);
  EXPECT_EQ(of_keys(few), 128);
  EXPECT_EQ(of_keys({1, 4, 2048, 128, 64}), 64) << "of few rows of k";
  const auto numbers_beside = [](std::int64_t rows, const PlanDevice &device, AttentionPart part) {
    return attention_plan(ScalarType::BFloat16, {1, 4, rows, 128, 2048}, false, device, part).numbers_beside;
  };
  EXPECT_TRUE(numbers_beside(2048, hopper, AttentionPart::of_keys));
  EXPECT_FALSE(numbers_beside(2047, hopper, AttentionPart::of_keys)) << "rows that do not begin at 16 bytes";
  EXPECT_FALSE(numbers_beside(2048, hopper, AttentionPart::of_queries));
  EXPECT_FALSE(numbers_beside(2048, {80, 108}, AttentionPart::of_keys));
  EXPECT_EQ(rows(few, hopper, AttentionPart::forward), 64);
  EXPECT_EQ(rows(wide, hopper, AttentionPart::forward), 64);
  EXPECT_EQ(rows(many, {80, 108}, AttentionPart::forward), 64);
  // Rows of whole 128 bytes.
  for (const auto &[size, panels] : {std::pair{1, 64}, {64, 64}, {65, 128}, {112, 128}})
    EXPECT_EQ(attention_plan(ScalarType::Float16, {1, 1, 70, size, 70}, true, hopper, AttentionPart::forward),
              (AttentionPlan{128, 128, panels, 256, true, 2}));
}

// Rows of 200 bytes are copied for bulk copies only if that pays; otherwise of_keys has tiles that fit without them.
TEST(AttentionPlan, RowsThatBulkCopiesCannotRead) {
  const auto keys = [&](const AttentionShape &shape) {
    return attention_plan(ScalarType::BFloat16, shape, true, hopper, AttentionPart::of_keys).keys;
  };
  EXPECT_EQ(keys({1, 1, 3, 104, 100}), 128) << "rows of 208 bytes";
  EXPECT_EQ(keys({1, 1, 3, 100, 100}), 64);
  EXPECT_EQ(keys({1, 1, 300, 100, 300}), 64);
  EXPECT_EQ(keys({4, 16, 300, 100, 300}), 128);
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

// 65 rows take two tiles of 40; tiles of 64 would make 128.
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
      EXPECT_EQ(attention_plan(ScalarType::Float32, {1, 1, 8, size, 8}, false, device, AttentionPart::forward).size,
                std::max<std::int64_t>(16, (size + 15) / 16 * 16));
}

}  // namespace
}  // namespace samite::ops::detail
