#include "samite/base/source_location.h"

#include <cstring>
#include <mutex>
#include <unordered_set>

namespace samite {

std::string SourceLocation::to_string() const {
  if (!known()) return "unknown location";
  return std::string(file) + ":" + std::to_string(line);
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
