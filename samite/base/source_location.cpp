#include "samite/base/source_location.h"

#include <cstring>
#include <mutex>
#include <unordered_set>

namespace samite {

std::string SourceLocation::to_string() const {
  if (!known()) return "unknown location";
  return std::string(file) + ":" + std::to_string(line);
}

bool SourceLocation::in_library() const {
  // This file is base/source_location.cpp, below the library's folder, however the compiler was told to call that.
  const std::string_view own = std::source_location::current().file_name();
  const std::string_view folder = own.substr(0, own.rfind("base/"));
  return !folder.empty() && std::string_view(file).starts_with(folder);
}

bool operator==(const SourceLocation &a, const SourceLocation &b) {
  return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

const char *intern_file(std::string_view file) {
  static std::mutex mutex;
  static std::unordered_set<std::string> files;
  std::lock_guard lock(mutex);
  return files.emplace(file).first->c_str();
}

}  // namespace samite
