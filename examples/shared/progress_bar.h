// The progress of a long loop: a bar that is redrawn on a terminal, a line at each quarter elsewhere.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace examples {

class ProgressBar {
 public:
  ProgressBar(std::string title, int total);

  // Call after each round, with the number of finished rounds.
  void update(int done, std::string_view text);

 private:
  std::string title_;
  int total_, printed_ = -1;
  bool terminal_;
  std::chrono::steady_clock::time_point drawn_{};
};

}  // namespace examples
