// How rows of softmax and layer norm are cut into tiles.
#include "samite/ops/matmul_plan.h"
#include "samite/ops/rows.h"
#include "tests/ops/plan_devices.h"

#include <gtest/gtest.h>

#include <set>

namespace samite::ops::detail {
namespace {

constexpr std::int64_t longest = 10000;

RowPlan on_cpu(std::int64_t columns) { return row_plan(columns, cpu, longest, few_numbers); }

TEST(RowPlan, OnCudaWidthsAreOfFewKinds) {
  EXPECT_EQ(row_plan(0, hopper, longest, few_numbers), (RowPlan{64, 32, 256, false}));
  EXPECT_EQ(row_plan(1000, hopper, longest, few_numbers), (RowPlan{2, 1024, 256, false}));
  EXPECT_EQ(row_plan(8192, hopper, longest, few_numbers), (RowPlan{1, 8192, 512, false}));
  EXPECT_EQ(row_plan(8193, hopper, longest, few_numbers), (RowPlan{1, 4096, 512, true}));
  for (const std::int64_t width : {1536, 2560, 3072, 5120, 7168})
    EXPECT_EQ(row_plan(width, hopper, longest, few_numbers).columns, width) << "no row ends before its tile";
  std::set<RowPlan> plans;
  for (std::int64_t columns = 1; columns <= 8192; ++columns) {
    const RowPlan plan = row_plan(columns, hopper, longest, many_numbers(ScalarType::Float32));
    plans.insert(plan);
    ASSERT_GE(plan.columns, columns);
    ASSERT_TRUE(columns <= 512 || plan.columns * 8 <= columns * 9) << columns;
    ASSERT_EQ(plan.threads % 32, 0) << columns;
    ASSERT_GE(plan.threads * 128, plan.rows * plan.columns) << columns;
  }
  EXPECT_LE(plans.size(), 40u) << "kernels to compile";
}

TEST(RowPlan, OnCudaThreadsHaveManyNumbersButOfDoubles) {
  const int many = many_numbers(ScalarType::BFloat16);
  EXPECT_EQ(row_plan(1000, hopper, longest, many), (RowPlan{2, 1024, 128, false}));
  EXPECT_EQ(row_plan(4096, hopper, longest, many), (RowPlan{1, 4096, 128, false}));
  EXPECT_EQ(row_plan(8192, hopper, longest, many), (RowPlan{1, 8192, 256, false}));
  EXPECT_EQ(row_plan(4096, hopper, longest, many_numbers(ScalarType::Float64)), (RowPlan{1, 4096, 512, false}));
}

TEST(RowPlan, OnTheCpuShortRowsShareATileOfWholeRegisters) {
  EXPECT_EQ(on_cpu(0), (RowPlan{64, 16, 32, false}));
  EXPECT_EQ(on_cpu(16), (RowPlan{64, 16, 32, false}));
  EXPECT_EQ(on_cpu(17), (RowPlan{32, 32, 32, false}));
  EXPECT_EQ(on_cpu(130), (RowPlan{7, 144, 32, false}));
  EXPECT_EQ(on_cpu(512), (RowPlan{2, 512, 32, false}));
  EXPECT_EQ(on_cpu(1024), (RowPlan{1, 1024, 32, false}));
}

TEST(RowPlan, OnTheCpuALongRowIsKeptUpToTheGivenLength) {
  EXPECT_FALSE(on_cpu(longest).in_parts);
  EXPECT_EQ(on_cpu(longest).rows, 1);
  EXPECT_TRUE(on_cpu(longest + 1).in_parts);
}

// For any length, little is beyond the row, or beyond the last of its parts.
TEST(RowPlan, OnTheCpuTilesHoldTheRowAndNotMuchMore) {
  for (std::int64_t columns = 1; columns < 3 * longest; ++columns) {
    const RowPlan plan = on_cpu(columns);
    ASSERT_EQ(plan.columns % 16, 0) << columns;
    ASSERT_GE(plan.rows, 1) << columns;
    const std::int64_t parts = ceil_div(columns, plan.columns);
    ASSERT_EQ(plan.in_parts, columns > longest) << columns;
    if (plan.in_parts) {
      ASSERT_EQ(plan.rows, 1) << columns;
      ASSERT_LE(plan.columns, 2048) << columns;
    } else {
      ASSERT_EQ(parts, 1) << columns;
    }
    ASSERT_LE(parts * plan.columns - columns, std::max<std::int64_t>(15, columns / 16)) << columns;
  }
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_EQ(on_cpu(huge), (RowPlan{1, 2048, 32, true}));
}

// Each width is a kernel that is compiled.
TEST(RowPlan, OnTheCpuThereAreFewWidths) {
  std::set<RowPlan> all;
  for (std::int64_t columns = 1; columns <= 65536; ++columns) all.insert(row_plan(columns, cpu, 65536, few_numbers));
  EXPECT_LE(all.size(), 32u + 7 * 16);
}

}  // namespace
}  // namespace samite::ops::detail
