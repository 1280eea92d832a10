// Each allocation fails once, or one in every few: in captures of kernels, passes and emission, launches, records,
// graphs and tapes on the fake driver.
#include "tests/faults/failing_allocation.h"
#include "tests/faults/setting.h"

#include <fmt/format.h>

namespace samite::test {
namespace {

// A prime, so that repeated work fails at different places each time.
constexpr std::uint64_t primes[] = {1, 2, 3, 5, 7, 11, 23, 47, 97, 199, 397};
constexpr std::uint64_t most_failures_of_a_scenario = 400;

std::uint64_t step_for(std::uint64_t count) {
  if (sweeps_in_full()) return 1;
  for (const std::uint64_t prime : primes)
    if (count / prime <= most_failures_of_a_scenario) return prime;
  return primes[std::size(primes) - 1];
}

template <class Action>
class Finally {
 public:
  explicit Finally(const Action &action) : action_(action) {}
  Finally(const Finally &) = delete;
  Finally &operator=(const Finally &) = delete;
  ~Finally() { action_(); }

 private:
  Action action_;
};

// The same program with allocation number `number` failing; none if it is 0. `count` is set to the number of its
// allocations.
Scenario with_failing_allocation(const Scenario &scenario, std::uint64_t number, std::uint64_t &count) {
  Scenario failing = scenario;
  failing.run = [&scenario, &count, number](driver::fake::FakeDriver &fake, const Steps &step) {
    const FailingAllocation allocation(number);
    const Finally counted([&] { count = allocation.count(); });
    scenario.run(fake, step);
  };
  return failing;
}

std::uint64_t allocations_of(const Scenario &scenario) {
  std::uint64_t count = 0;
  for (int round = 0; round < 2; ++round) {  // the second finds everything that is made once per process
    driver::fake::FakeDriver fake(scenario.machine);
    EXPECT_FALSE(attempt(with_failing_allocation(scenario, 0, count), fake).threw);
  }
  return count;
}

class EachAllocation : public testing::TestWithParam<Scenario> {
 protected:
  void sweep(const std::function<void(const Scenario &failing, driver::fake::FakeDriver &fake)> &run) {
    const Scenario &scenario = GetParam();
    std::uint64_t count = allocations_of(scenario);
    const std::uint64_t all = count, step = step_for(all);
    for (std::uint64_t number = 1 + all % step; number <= all && !HasFailure(); number += step) {
      SCOPED_TRACE(fmt::format("{}: allocation {} of {}", scenario.name, number, all));
      expect_no_leak([&] {
        driver::fake::FakeDriver fake(scenario.machine);
        run(with_failing_allocation(scenario, number, count), fake);
        for (const std::string &mistake : fake.take_mistakes()) ADD_FAILURE() << mistake;
        for (const std::string &leak : fake.alive()) ADD_FAILURE() << "left behind: " << leak;
      });
      FaultCount::instance().add("operator new");
    }
  }
};

// The error may be of any kind, but nothing is left behind, and the program runs well when it is started again.
TEST_P(EachAllocation, ThatFailsEndsTheProgramWell) {
  sweep([&](const Scenario &failing, driver::fake::FakeDriver &fake) {
    const Outcome first = attempt(failing, fake);
    EXPECT_TRUE(!first.threw || first.out_of_memory || first.of_samite) << first.text();
    const Outcome second = attempt(GetParam(), fake);
    EXPECT_FALSE(second.threw) << "the next run fails, too: " << second.message;
  });
}

TEST_P(EachAllocation, ThatFailsIsMadeAgain) {
  if (!GetParam().has_steps) GTEST_SKIP() << "the program has no steps";
  sweep([](const Scenario &failing, driver::fake::FakeDriver &fake) {
    const Outcome outcome = attempt(failing, fake, true);
    // Code outside of a step may end the program.
    EXPECT_TRUE(!outcome.threw || outcome.out_of_memory) << "the step fails again: " << outcome.text();
  });
}

// Allocations of a successful launch waste time: the text of an error that does not occur, for instance.
TEST(LaunchesOnTheCpu, AllocateNothing) {
  Kernel scale{"scale", [](Array<float, 1> y, Array<const float, 1> x) {
                 Int i = thread_index();
                 y(i) = 2 * x(i);
               }};
  const Buffer<float> y(Device::cpu(), {5}, Gradient::tracked), x(Device::cpu(), {5}, Gradient::tracked);
  LaunchWithAdjoint recorded = scale.record_with_adjoint({5}, y, x);
  for (const auto &launch : std::vector<std::function<void()>>{
           [&] { recorded.forward.launch(); }, [&] { recorded.adjoint.launch(); }, [&] { scale.launch({5}, y, x); }}) {
    launch();
    const FailingAllocation allocations(0);
    launch();
    EXPECT_EQ(allocations.count(), 0u);
  }
}

std::vector<Scenario> allocating_scenarios() {
  std::vector<Scenario> all = launch_scenarios();
  all.push_back(cpu_scenario());
  return all;
}

INSTANTIATE_TEST_SUITE_P(Of, EachAllocation, testing::ValuesIn(allocating_scenarios()), [](const auto &info) {
  std::string name = info.param.name;
  std::ranges::replace(name, ' ', '_');
  return name;
});

}  // namespace
}  // namespace samite::test
