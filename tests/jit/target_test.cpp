// The targets of kernels: each GPU's row, its name for the compiler, and whether hardware has run it.
#include "samite/jit/target.h"

#include <gmock/gmock.h>

#include <map>

namespace samite::test {
namespace {

using jit::Target;

TEST(Target, OfTheCpu) {
  EXPECT_TRUE(Target::cpu().is_cpu());
  EXPECT_EQ(Target::cpu().name(), "cpu");
  EXPECT_EQ(Target::cpu().architecture().capability, 0);
  EXPECT_FALSE(Target::cpu().has_warp_groups());
  EXPECT_FALSE(Target::cpu().launches_early());
  EXPECT_TRUE(Target::cpu().has_been_run());
}

TEST(Target, EachGpuHasARowOfItsOwn) {
  const std::map<int, std::string> names{{80, "sm_80"},    {86, "sm_86"},    {89, "sm_89"},  {90, "sm_90a"},
                                         {100, "sm_100a"}, {103, "sm_103a"}, {120, "sm_120"}};
  std::map<int, std::string> found;
  for (const Target &target : jit::known_gpus()) {
    found.emplace(target.compute_capability(), target.name());
    EXPECT_TRUE(target.is_gpu());
    EXPECT_EQ(target.architecture().capability, target.compute_capability());
    EXPECT_EQ(target.subgroup(), 32);
  }
  EXPECT_EQ(found, names);
}

TEST(Target, ANewerGpuHasTheLastRowBeforeIt) {
  EXPECT_EQ(Target::of(121).architecture().capability, 120);
  EXPECT_EQ(Target::of(121).name(), "sm_121");
}

// CUDA C++ Programming Guide, technical specifications per compute capability.
TEST(Target, HasTheUnitsAndLimitsOfItsGpu) {
  constexpr std::int64_t kib = 1024;
  const std::map<int, std::int64_t> shared{{80, 163 * kib},  {86, 99 * kib},   {89, 99 * kib}, {90, 227 * kib},
                                           {100, 227 * kib}, {103, 227 * kib}, {120, 99 * kib}};
  for (const Target &target : jit::known_gpus()) {
    const passes::Architecture &row = target.architecture();
    const bool since_9 = target.compute_capability() >= 90;
    EXPECT_EQ(row.shared_bytes, shared.at(target.compute_capability()));
    EXPECT_EQ(row.clusters, since_9);
    EXPECT_EQ(row.fetches_rows, since_9);
    EXPECT_EQ(target.launches_early(), since_9);
    EXPECT_EQ(target.has_warp_groups(), target.compute_capability() == 90);
  }
}

TEST(Target, OnlyHopperHasBeenRun) {
  for (const Target &target : jit::known_gpus())
    EXPECT_EQ(target.has_been_run(), target.compute_capability() == 90) << target.name();
}

}  // namespace
}  // namespace samite::test
