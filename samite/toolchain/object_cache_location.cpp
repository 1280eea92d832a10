// The location of the user's object cache: the part of object_cache.h that reads the environment.
#include "samite/base/error.h"
#include "samite/base/warning.h"
#include "samite/toolchain/object_cache.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace samite {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t default_limit_mb = 1024;

const char *environment_variable(const char *name) {
  const char *value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

// Empty if the environment names none.
fs::path cache_folder() {
  if (const char *own = environment_variable("SAMITE_CACHE_DIR")) return fs::absolute(own);
  // The XDG specification asks to ignore a relative path.
  if (const char *base = environment_variable("XDG_CACHE_HOME"); base != nullptr && *base == '/')
    return fs::path(base) / "samite";
  if (const char *home = environment_variable("HOME")) return fs::path(home) / ".cache" / "samite";
  return {};
}

std::uint64_t limit_bytes() {
  const char *text = environment_variable("SAMITE_CACHE_LIMIT_MB");
  if (text == nullptr) return default_limit_mb << 20;
  std::uint64_t megabytes = 0;
  const char *end = text + std::strlen(text);
  const auto parsed = std::from_chars(text, end, megabytes);
  if (parsed.ec != std::errc() || parsed.ptr != end || megabytes > (std::uint64_t{1} << 40))
    throw UserError("SAMITE_CACHE_LIMIT_MB is \"" + std::string(text) +
                    "\"; expected a whole number of megabytes, e.g. 1024, or 0 to switch the kernel cache off.");
  return megabytes << 20;
}

}  // namespace

std::shared_ptr<ObjectCache> object_cache() {
  static std::mutex mutex;
  static std::shared_ptr<ObjectCache> current;
  const fs::path folder = cache_folder();
  const std::uint64_t wanted = limit_bytes();
  const std::uint64_t limit = folder.empty() ? 0 : wanted;
  if (folder.empty() && wanted != 0)
    warn_once("object cache, no folder",
              "the kernel cache is not used: neither SAMITE_CACHE_DIR, XDG_CACHE_HOME nor HOME is set. Kernels are "
              "compiled again in each process. Set SAMITE_CACHE_DIR to a folder that this process may write; "
              "SAMITE_CACHE_LIMIT_MB=0 switches the cache off.");
  const std::lock_guard lock(mutex);
  if (!current || current->folder() != folder || current->limit_bytes() != limit)
    current = std::make_shared<ObjectCache>(folder, limit);
  return current;
}

}  // namespace samite
