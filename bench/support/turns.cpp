#include "bench/support/turns.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string_view>

namespace samite::bench {

bool asked_for_turns(int count, char **arguments) {
  for (int i = 1; i < count; ++i)
    if (std::string_view(arguments[i]) != "--turns")
      throw std::runtime_error(fmt::format("{}: there is no option but --turns", arguments[i]));
  return count > 1;
}

void take_turns(const std::string &name, const std::function<double(int calls)> &milliseconds) {
  const auto answer = [](const std::string &line) {
    fmt::print("{}\n", line);
    std::fflush(stdout);
  };
  answer(nlohmann::json{{"case", name}}.dump());
  for (std::string line; std::getline(std::cin, line) && line != "next";)
    answer(fmt::format("{:.9g}", milliseconds(std::stoi(line))));
}

}  // namespace samite::bench
