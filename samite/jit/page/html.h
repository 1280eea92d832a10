// Text as HTML.
#pragma once

#include <string>
#include <string_view>

namespace samite::html {

// As content of an element, or of an attribute between double quotes. Invalid UTF-8 and control characters become
// U+FFFD.
std::string escaped(std::string_view text);

// A line of C++ with its words, numbers and comments in elements <b class="w">, "n" and "r".
std::string highlighted(std::string_view line);

}  // namespace samite::html
