// Identifies the build of a shared library file without loading it.
//
// The linker writes a hash of its output into a note of each ELF file; reading it costs a page. A file without the note
// is identified by its size and time. Empty if the file does not exist. Thread-safe.
#pragma once

#include <filesystem>
#include <string>

namespace samite {

std::string build_identifier(const std::filesystem::path &library);

}  // namespace samite
