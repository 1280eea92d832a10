// Reads a text line by line.
#pragma once

#include <algorithm>
#include <string_view>

namespace samite {

// Removes the first line from `rest`, and returns it without its end.
inline std::string_view take_line(std::string_view &rest) {
  const std::string_view line = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  return line;
}

}  // namespace samite
