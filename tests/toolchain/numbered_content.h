// Cache entries with contents that follow from their numbers, so that any process can tell a right one from a wrong
// one.
#pragma once

#include "samite/base/hash.h"

#include <string>

namespace samite::test {

inline constexpr unsigned numbered_contents = 16;

inline Hash128 numbered_key(unsigned number) { return hash_of({"numbered", std::to_string(number)}); }

inline std::string numbered_content(unsigned number) {
  return std::string(100'000 + 5'000 * number, static_cast<char>('a' + number % 26));
}

}  // namespace samite::test
