#include "shared/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace examples {

ProgressBar::ProgressBar(std::string title, int total)
    : title_(std::move(title)), total_(total), terminal_(isatty(STDOUT_FILENO) == 1) {}

void ProgressBar::update(int done, std::string_view text) {
  constexpr int cells = 30, lines = 4;
  const bool last = done == total_;
  if (terminal_) {
    // Writing to a terminal faster than it reads would slow the loop down.
    const auto now = std::chrono::steady_clock::now();
    if (!last && now - drawn_ < std::chrono::milliseconds(50)) return;
    drawn_ = now;
    const int filled = done * cells / total_;
    fmt::print("\r{} [{:#<{}}{:.<{}}] {:3}% {}\033[K{}", title_, "", filled, "", cells - filled, done * 100 / total_,
               text, last ? "\n" : "");
  } else {
    const int line = done * lines / total_;
    if (line == printed_ || (line == 0 && done > 1)) return;
    printed_ = line;
    fmt::print("{} {:3}% {}\n", title_, done * 100 / total_, text);
  }
  std::fflush(stdout);
}

}  // namespace examples
