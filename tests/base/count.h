// Counts the occurrences of a part in a text, for tests of texts.
#pragma once

#include <string>

namespace samite::test {

inline int count(const std::string &text, const std::string &part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

}  // namespace samite::test
