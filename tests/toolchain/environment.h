// Environment variables for the length of a test.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace samite::test {

class EnvironmentVariable {
 public:
  EnvironmentVariable(const char *name, const std::string &value) : name_(name) {
    if (const char *before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  EnvironmentVariable(const EnvironmentVariable &) = delete;
  EnvironmentVariable &operator=(const EnvironmentVariable &) = delete;
  ~EnvironmentVariable() {
    if (before_)
      setenv(name_, before_->c_str(), 1);
    else
      unsetenv(name_);
  }

 private:
  const char *name_;
  std::optional<std::string> before_;
};

// Most of the time of a random-program test would go into optimising code that runs once. The effect of optimisation
// shows in the test's first part, so the others do without.
class LittleEffortAfterFirstPart {
 public:
  explicit LittleEffortAfterFirstPart(unsigned part) {
    if (part >= 1) level_.emplace("SAMITE_CPU_OPTIMIZATION", "0");
  }

 private:
  std::optional<EnvironmentVariable> level_;
};

}  // namespace samite::test
