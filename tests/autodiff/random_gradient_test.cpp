#include "tests/autodiff/random_gradient.h"
#include "samite/toolchain/host_target.h"
#include "tests/toolchain/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

namespace samite::test {
namespace {

// In parts, so that they run side by side. More programs: tests/autodiff/programs/check_gradients.cpp.
class RandomGradients : public testing::TestWithParam<unsigned> {};

// Sanitizers check the library, whose code a few programs reach as well as many.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr unsigned programs_in_part = 3;
#else
constexpr unsigned programs_in_part = 20;
#endif

// Each part for another machine, as far as this one can act as one: a level of x86-64, with and without fused
// multiply-adds. Settings from the environment are not changed.
class MachineOfPart {
 public:
  explicit MachineOfPart(unsigned part) {
    constexpr const char *levels[] = {"", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
    if (std::getenv("SAMITE_CPU_ARCHITECTURE") != nullptr) return;
    level_.emplace("SAMITE_CPU_ARCHITECTURE", levels[part % 4]);
    contraction_.emplace("SAMITE_CPU_CONTRACTION", part % 3 == 2 ? "0" : "1");
    try {
      host_target();
    } catch (const UserError &) {
      level_.reset();
    }
  }

 private:
  std::optional<EnvironmentVariable> level_, contraction_;
};

TEST_P(RandomGradients, AreRightOrRefused) {
  const LittleEffortAfterFirstPart little_effort(GetParam());
  const MachineOfPart machine(GetParam());
  int refused = 0;
  for (unsigned seed = GetParam() * programs_in_part; seed < (GetParam() + 1) * programs_in_part; ++seed) {
    GradientOutcome outcome = check_random_gradient(seed);
    EXPECT_TRUE(outcome.right) << outcome.report;
    refused += !outcome.refusal.empty();
  }
  EXPECT_EQ(refused, 0) << "nothing in these programs is beyond the adjoint";
}

// Debug mode looks at every access of the forward kernels, the adjoints and the tangents.
TEST(RandomGradientsInDebugMode, NoInstancesRace) {
  const EnvironmentVariable little_effort("SAMITE_CPU_OPTIMIZATION", "0");
  set_debug_mode(true);
  for (unsigned seed = 1000; seed < 1003; ++seed) {
    GradientOutcome outcome;
    EXPECT_NO_THROW(outcome = check_random_gradient(seed)) << seed;
    EXPECT_TRUE(outcome.right) << outcome.report;
  }
  set_debug_mode(false);
}

INSTANTIATE_TEST_SUITE_P(Programs, RandomGradients, testing::Range(0u, 10u));

}  // namespace
}  // namespace samite::test
