#include "tests/autodiff/random_second_gradient.h"
#include "tests/toolchain/environment.h"

#include <gtest/gtest.h>

namespace samite::test {
namespace {

class RandomSecondGradients : public testing::TestWithParam<unsigned> {};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr unsigned second_programs_in_part = 1;
#else
constexpr unsigned second_programs_in_part = 3;
#endif

TEST_P(RandomSecondGradients, AreRightOrRefused) {
  const LittleEffortAfterFirstPart little_effort(GetParam());
  for (unsigned seed = GetParam() * second_programs_in_part; seed < (GetParam() + 1) * second_programs_in_part;
       ++seed) {
    SecondGradientOutcome outcome = check_random_second_gradient(seed);
    EXPECT_TRUE(outcome.right) << outcome.report;
    EXPECT_EQ(outcome.refusal, "") << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, RandomSecondGradients, testing::Range(0u, 2u));

}  // namespace
}  // namespace samite::test
