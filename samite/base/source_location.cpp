#include "samite/base/source_location.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <unordered_set>

namespace samite {

std::string SourceLocation::to_string() const {
  if (!known()) return "unknown location";
  return std::string(file) + ":" + std::to_string(line);
}

bool SourceLocation::in_library() const {
  const std::string_view name = file;
  // This file is base/source_location.cpp below the library's folder, whatever path the compiler was given for it.
  const std::string_view own = std::source_location::current().file_name();
  const std::string_view folder = own.substr(0, own.rfind("base/"));
  if (!folder.empty() && name.starts_with(folder)) return true;
  // Programs include the library's headers by another path, which ends in samite/<module>/<file>.h.
  constexpr std::array<std::string_view, 7> modules{"base/",         "ir/",  "jit/",    "lang/",
                                                    "lang/algebra/", "ops/", "runtime/"};
  constexpr std::string_view library = "samite/";
  const std::size_t last = name.rfind('/');
  if (!name.ends_with(".h") || last == name.npos) return false;
  const std::string_view path = name.substr(0, last + 1);
  return std::ranges::any_of(modules, [&](std::string_view module) {
    if (!path.ends_with(module)) return false;
    const std::string_view before = path.substr(0, path.size() - module.size());
    return before.ends_with(library) &&
           (before.size() == library.size() || before[before.size() - library.size() - 1] == '/');
  });
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
