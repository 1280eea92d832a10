// How long the library's sources and functions are, and how many members its classes have.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace samite::house {

// The measured thing, such as "lines of samite/ir/print.cpp", "lines of build_variant in samite/jit/build_variant.cpp"
// or "members of Variant in samite/jit/variant.h", with its size. For functions of one name in a file, the longest one.
using Sizes = std::map<std::string, int>;

// The sizes in one file in the repository's format: statements end with `;` or a brace. Lambdas belong to the function
// around them; functions of a class to its file.
Sizes sizes_of(const std::string &path, std::string_view text);

// The limit of a size, by its first word and its kind: lines of a source, lines of a function, members.
int limit_of(const std::string &measured);

// Reads "<size> <what>" a line; lines that begin with # are comments.
Sizes read_sizes(std::string_view text);

}  // namespace samite::house
