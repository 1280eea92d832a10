#include "samite/toolchain/cuda_target.h"

#include <gtest/gtest.h>

namespace samite {
namespace {

TEST(CudaTarget, NamesAreRead) {
  EXPECT_EQ(cuda_target("sm_80")->capability, 80);
  EXPECT_EQ(cuda_target("sm_100f")->capability, 100);
  EXPECT_TRUE(cuda_target("compute_120")->ptx);
  for (const char *name : {"", "sm_", "compute_", "sm_9x", "sm_90b", "sm_90aa", "compute_90a", "compute_100f", "80",
                           "SM_80", "sm_-80", "sm_8"})
    EXPECT_FALSE(cuda_target(name)) << name;
}

// CUDA C++ Programming Guide: binary compatibility, and architecture- and family-specific features.
TEST(CudaTarget, CodeRunsWhereItMay) {
  EXPECT_TRUE(cuda_target("sm_80")->runs_on(80));
  EXPECT_TRUE(cuda_target("sm_80")->runs_on(89));
  EXPECT_FALSE(cuda_target("sm_86")->runs_on(80)) << "older";
  EXPECT_FALSE(cuda_target("sm_80")->runs_on(90)) << "another major version";
  EXPECT_TRUE(cuda_target("sm_90a")->runs_on(90));
  EXPECT_FALSE(cuda_target("sm_100a")->runs_on(103));
  EXPECT_TRUE(cuda_target("sm_100f")->runs_on(103));
  EXPECT_FALSE(cuda_target("sm_100f")->runs_on(120));
  EXPECT_TRUE(cuda_target("compute_80")->runs_on(120));
  EXPECT_FALSE(cuda_target("compute_90")->runs_on(89));
}

}  // namespace
}  // namespace samite
