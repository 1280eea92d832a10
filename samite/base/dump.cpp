#include "samite/base/dump.h"

#include "samite/base/atomic_file.h"
#include "samite/base/warning.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace samite {
namespace {

std::string_view folder() {
  const char *text = std::getenv("SAMITE_DUMP");
  return text ? text : "";
}

// Characters of a kernel's name that have a meaning in paths become underscores.
std::string in_path(std::string_view name) {
  std::string safe(name.substr(0, 100));
  const auto plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  std::ranges::replace_if(safe, [&](char c) { return !plain(c); }, '_');
  return safe;
}

}  // namespace

bool dumping() { return !folder().empty(); }

void dump(std::string_view kernel, std::string_view step, std::string_view extension, std::string_view contents) {
  static std::atomic<int> next{1};
  if (!dumping()) return;
  const std::filesystem::path into(folder());
  const std::string name = fmt::format("{:05}-{}-{}.{}", next++, in_path(kernel), in_path(step), extension);
  try {
    std::filesystem::create_directories(into);
    write_file(into / name, contents);
  } catch (const std::system_error &error) {
    warn_once("dump", fmt::format("SAMITE_DUMP: {}", error.what()));
  }
}

}  // namespace samite
