// Common code of all fuzzers: a defect ends the process with a message, so that libFuzzer keeps the input.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace samite::fuzz {

[[noreturn]] inline void defect(std::string_view what, std::string_view details = "") {
  std::fprintf(stderr, "DEFECT: %.*s\n%.*s\n", static_cast<int>(what.size()), what.data(),
               static_cast<int>(details.size()), details.data());
  std::abort();
}

}  // namespace samite::fuzz
