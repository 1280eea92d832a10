// Programs in which each call fails once.
//
// A scenario is a short program. It runs once to count its calls of the driver, and then once for each call and each
// error that the call may have. A failing call may end the program with an error of the right kind that names the call,
// or the program continues and its numbers are right; nothing else. Nothing is left behind either way, and the same
// program runs well when it is restarted.
//
// A scenario of steps runs once more for each call: the step that ends with an error is then repeated, on the results
// of the previous steps, and all numbers are right.
#pragma once

#include "tests/driver/fake/fake_driver.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace samite::test {

// Runs the steps of a scenario, and on request repeats those that fail.
class Steps {
 public:
  explicit Steps(bool again) : again_(again) {}

  template <class Step>
  decltype(auto) operator()(const Step &step) const {
    if (!again_) return step();
    try {
      return step();
    } catch (const std::exception &) {
      return step();
    }
  }

 private:
  bool again_;
};

struct Scenario {
  std::string name;
  // Checks its own numbers with EXPECT. Whatever it makes is gone when it returns or throws. It runs on an empty
  // machine, more than once.
  std::function<void(driver::fake::FakeDriver &fake, const Steps &step)> run;
  driver::fake::Options machine{};
  bool has_steps = false;
  bool names_lines = false;  // errors name the line of calls for which the library knows it

  friend std::ostream &operator<<(std::ostream &stream, const Scenario &scenario) { return stream << scenario.name; }
};

// The errors that a call of `entry` may have: those that the driver's documentation names, except for errors of a wrong
// program. If it may be the first call to meet a fault of earlier work, that is among them.
std::vector<driver::Result> errors_of(driver::Entry entry);

// How many calls failed so far in this process, by name.
class FaultCount {
 public:
  static FaultCount &instance();
  void add(const std::string &call, int count = 1);
  // "failed 812 calls: 40 of cuEventCreate, …".
  std::string to_string() const;

 private:
  std::map<std::string, int> counts_;
};

// True if the environment's SAMITE_FAULT_SWEEP is "full": each call then fails with each of its errors. Otherwise it
// fails with one of them, another one for the next call, and with one fault.
bool sweeps_in_full();

// Runs `action`, and again if it has left allocations behind: allocations that are kept once per process are made the
// first time. A failed test if it leaves some again.
void expect_no_leak(const std::function<void()> &action);

void sweep_driver_calls(const Scenario &scenario);
void sweep_driver_calls_with_steps(const Scenario &scenario);

// The outcome of a run, with its exception and warnings.
struct Outcome {
  std::vector<std::string> calls;
  std::optional<driver::Result> code{};  // of a DriverError
  bool threw = false, of_samite = true, out_of_memory = false;
  std::string message{};
  std::vector<std::string> warnings{};

  std::string text() const;
};
Outcome attempt(const Scenario &scenario, driver::fake::FakeDriver &fake, bool again = false);

// Programs that use the driver's handles, and programs that use the library as its users do.
std::vector<Scenario> handle_scenarios();
std::vector<Scenario> launch_scenarios();
Scenario cpu_scenario();

// The entries that the scenario calls.
std::vector<driver::Entry> entries_called(const Scenario &scenario);

}  // namespace samite::test
