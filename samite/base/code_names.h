// In the text of a kernel that may share its code with others, everything from this line on consists of names: those of
// the kernel and its parameters, for debuggers, profilers and readers. Texts that differ only after it are the same
// code and are compiled once.
#pragma once

#include <string_view>

namespace samite {

inline constexpr std::string_view code_names_line = "// Names only.\n";

// The text without its names; all of it if it does not separate them.
constexpr std::string_view without_code_names(std::string_view text) {
  return text.substr(0, text.find(code_names_line));
}

}  // namespace samite
