// Files that are read and written whole.
//
// `write_file_atomically` leaves either the old file or all of the new one, also after a crash: it writes a temporary
// next to `path`, forces it to the disk and renames it. Thread- and process-safe; of several writers the last wins.
//
// All throw std::system_error with the path and the system's reason, so that a caller can tell a missing file from
// a full disk by the code. A failed write leaves no temporary behind.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace samite {

void write_file_atomically(const std::filesystem::path &path, std::string_view bytes);

// Not atomic: for files in a folder that no other process uses yet.
void write_file(const std::filesystem::path &path, std::string_view bytes);

std::string read_file(const std::filesystem::path &path);

// Like read_file, but returns nothing if `wanted` rejects the status of the open file, or if the file has grown since:
// it never takes more memory than that status says. Does not wait for a pipe's writer.
std::optional<std::string> read_file_if(const std::filesystem::path &path,
                                        const std::function<bool(const struct stat &status)> &wanted);

}  // namespace samite
