// Which build of a shared library a file is, without opening it as one.
//
// The linker writes a hash of everything it linked into a note of each ELF file; reading it costs a page. A file
// without the note is named by its size and time. Empty where there is no such file. Thread-safe.
#pragma once

#include <filesystem>
#include <string>

namespace samite {

std::string build_identifier(const std::filesystem::path &library);

}  // namespace samite
