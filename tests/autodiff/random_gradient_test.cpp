#include "tests/autodiff/random_gradient.h"
#include "tests/toolchain/environment.h"

#include <gtest/gtest.h>

namespace samite::test {
namespace {

// In parts, so that they run side by side. More programs: tests/autodiff/programs/check_gradients.cpp.
class RandomGradients : public testing::TestWithParam<unsigned> {};

// Sanitizers look at the library, whose code a few programs reach as well as many.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr unsigned programs_in_part = 3;
#else
constexpr unsigned programs_in_part = 30;
#endif

TEST_P(RandomGradients, AreRightOrRefused) {
  const LittleEffortAfterFirstPart little_effort(GetParam());
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
