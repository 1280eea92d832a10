// A text, line by line.
#pragma once

#include <algorithm>
#include <string_view>

namespace samite {

// The first line, without its end, of what is then left in `rest`.
inline std::string_view take_line(std::string_view &rest) {
  const std::string_view line = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  return line;
}

}  // namespace samite
