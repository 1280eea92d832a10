// The library's choices for a launch, and what it asks of a GPU's row.
#include "samite/passes/tiles/automatic_plan.h"

#include "samite/passes/analysis/architecture.h"
#include "samite/passes/sm90/share_steps.h"
#include "samite/passes/tiles/split_sums.h"

#include <gtest/gtest.h>

namespace samite::passes {
namespace {

TEST(AutomaticPlan, TeamsAndClustersAreForTwoWavesOfBlocks) {
  EXPECT_FALSE(has_several_waves(263, 132));
  EXPECT_TRUE(has_several_waves(264, 132));
}

TEST(AutomaticPlan, SumsAreSplitWhereTwoPartsOfEachBlockFitTheDevice) {
  for (const std::int64_t blocks : {1, 8, 40, 66, 67, 132})
    for (const std::int64_t steps : {0, 1, 64, 512}) {
      const AutomaticParts parts = automatic_parts(blocks, steps, 1 << 14, 132);
      EXPECT_GE(parts.in_cluster, 1);
      EXPECT_GE(parts.by_kernel, 1);
      if (2 * blocks <= 132) {
        EXPECT_EQ(parts.in_cluster, parts_of_steps(blocks, steps, 132));
        EXPECT_EQ(parts.by_kernel, parts_of_sums(blocks, steps, 1 << 14, 132));
      } else {
        EXPECT_EQ(parts.in_cluster * parts.by_kernel, 1);
      }
    }
  EXPECT_EQ(automatic_parts(0, 512, 1 << 14, 132).in_cluster, 1);
  EXPECT_EQ(automatic_parts(8, 512, 1 << 14, 132).in_cluster, 8);
}

TEST(Architecture, AnswersWhatPlansAskOfIt) {
  EXPECT_EQ(gpu_architecture(90).blocks_with_room(113 << 10), 2) << "with 1 KiB of each of them for the driver";
  EXPECT_EQ(gpu_architecture(90).blocks_with_room((113 << 10) + 1), 1);
  EXPECT_EQ(gpu_architecture(86).blocks_with_room(99 << 10), 1);
  ASSERT_TRUE(gpu_architecture(90).multiplication_of_groups(ScalarType::Int8));
  EXPECT_TRUE(gpu_architecture(90).multiplication_of_groups(ScalarType::Int8)->terms_together);
  EXPECT_FALSE(gpu_architecture(90).multiplication_of_groups(ScalarType::BFloat16)->terms_together);
  EXPECT_FALSE(gpu_architecture(90).multiplication_of_groups(ScalarType::Float64));
  for (const int capability : {80, 89, 100, 120})
    EXPECT_FALSE(gpu_architecture(capability).multiplication_of_groups(ScalarType::BFloat16)) << capability;
}

}  // namespace
}  // namespace samite::passes
