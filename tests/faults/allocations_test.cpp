// Each allocation fails once, or one in so many: in captures of kernels, passes and emission, launches, records, graphs
// and tapes on the fake driver.
#include "tests/faults/failing_allocation.h"
#include "tests/faults/setting.h"

#include <fmt/format.h>

namespace samite::test {
namespace {

// A prime, so that what repeats is met at other places each time.
constexpr std::uint64_t primes[] = {1, 2, 3, 5, 7, 11, 23, 47, 97, 199, 397};
constexpr std::uint64_t most_failures_of_a_scenario = 400;

std::uint64_t step_for(std::uint64_t count) {
  if (sweeps_in_full()) return 1;
  for (const std::uint64_t prime : primes)
    if (count / prime <= most_failures_of_a_scenario) return prime;
  return primes[std::size(primes) - 1];
}

class EachAllocation : public testing::TestWithParam<Scenario> {};

// That fails: the error may be of any kind, but nothing is left behind and the program runs well when it is started
// again.
TEST_P(EachAllocation, ThatFailsEndsTheProgramWell) {
  const Scenario &scenario = GetParam();
  std::uint64_t count = 0;
  for (int round = 0; round < 2; ++round) {  // what is made once in a process is there in the second
    driver::fake::FakeDriver fake(scenario.machine);
    const FailingAllocation none(0);
    EXPECT_FALSE(attempt(scenario, fake).threw);
    count = none.count();
  }
  const std::uint64_t step = step_for(count);
  for (std::uint64_t number = 1 + count % step; number <= count && !HasFailure(); number += step) {
    SCOPED_TRACE(fmt::format("{}: allocation {} of {}", scenario.name, number, count));
    driver::fake::FakeDriver fake(scenario.machine);
    {
      const FailingAllocation failing(number);
      attempt(scenario, fake);
    }
    for (const std::string &mistake : fake.take_mistakes()) ADD_FAILURE() << mistake;
    for (const std::string &leak : fake.alive()) ADD_FAILURE() << "left behind: " << leak;
    const Outcome second = attempt(scenario, fake);
    EXPECT_FALSE(second.threw) << "the next run fails, too: " << second.message;
    FaultCount::instance().add("operator new");
  }
}

TEST_P(EachAllocation, ThatFailsIsMadeAgain) {
  const Scenario &scenario = GetParam();
  if (!scenario.has_steps) GTEST_SKIP() << "the program has no steps";
  std::uint64_t count = 0;
  for (int round = 0; round < 2; ++round) {
    driver::fake::FakeDriver fake(scenario.machine);
    const FailingAllocation none(0);
    EXPECT_FALSE(attempt(scenario, fake).threw);
    count = none.count();
  }
  const std::uint64_t step = step_for(count);
  for (std::uint64_t number = 1 + (count + 1) % step; number <= count && !HasFailure(); number += step) {
    SCOPED_TRACE(fmt::format("{}, by steps: allocation {} of {}", scenario.name, number, count));
    driver::fake::FakeDriver fake(scenario.machine);
    Outcome outcome;
    {
      const FailingAllocation failing(number);
      outcome = attempt(scenario, fake, true);
    }
    // What is not a step may end the program.
    EXPECT_TRUE(!outcome.threw || outcome.out_of_memory) << "the step fails again: " << outcome.text();
    for (const std::string &mistake : fake.take_mistakes()) ADD_FAILURE() << mistake;
    FaultCount::instance().add("operator new");
  }
}

INSTANTIATE_TEST_SUITE_P(Of, EachAllocation, testing::ValuesIn(launch_scenarios()), [](const auto &info) {
  std::string name = info.param.name;
  std::ranges::replace(name, ' ', '_');
  return name;
});

}  // namespace
}  // namespace samite::test
