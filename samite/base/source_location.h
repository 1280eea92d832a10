// A place in the user's program.
//
// Every IR node carries one, and every error that blames the user's program prints it. File names are the
// compiler's own string literals (or strings kept for the process by `intern_file`), so that a location is two
// words and copying one is free.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

namespace samite {

struct SourceLocation {
  const char *file = "";
  std::uint32_t line = 0;

  constexpr SourceLocation() = default;
  constexpr SourceLocation(const char *file, std::uint32_t line) : file(file), line(line) {}
  constexpr SourceLocation(std::source_location where) : file(where.file_name()), line(where.line()) {}

  constexpr bool known() const { return line != 0; }
  std::string to_string() const;  // "dir/file.cpp:42", or "unknown location"
  // Whether it is one of the library's own lines, which do not help its user.
  bool in_library() const;

  friend bool operator==(const SourceLocation &a, const SourceLocation &b);
};

// A copy of `file` that lives as long as the process: for locations that are read from text. Thread-safe.
const char *intern_file(std::string_view file);

}  // namespace samite
