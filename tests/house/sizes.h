// How long the library's sources and functions are, and how many members its classes have.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace samite::house {

// What is measured, such as "lines of samite/ir/print.cpp", "lines of build_variant in samite/jit/build_variant.cpp"
// or "members of Variant in samite/jit/variant.h", with its size. Of functions of one name in a file, the longest one.
using Sizes = std::map<std::string, int>;

// Of one file in the repository's format: statements end with `;` or a brace. Lambdas belong to the function around
// them; functions of a class to its file.
Sizes sizes_of(const std::string &path, std::string_view text);

// The most that a size may be, by its first word and what it is of: lines of a source, lines of a function, members.
int limit_of(const std::string &measured);

// Reads "<size> <what>" a line; lines that begin with # are comments.
Sizes read_sizes(std::string_view text);

}  // namespace samite::house
