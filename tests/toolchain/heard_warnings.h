// Collects Samite's warnings, instead of printing them, during a test.
#pragma once

#include "samite/base/warning.h"

#include <string>
#include <vector>

namespace samite::test {

class HeardWarnings {
 public:
  HeardWarnings() : before_(set_warning_sink([this](std::string_view text) { texts_.emplace_back(text); })) {}
  HeardWarnings(const HeardWarnings &) = delete;
  HeardWarnings &operator=(const HeardWarnings &) = delete;
  ~HeardWarnings() { set_warning_sink(before_); }

  const std::vector<std::string> &texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
  WarningSink before_;
};

}  // namespace samite::test
