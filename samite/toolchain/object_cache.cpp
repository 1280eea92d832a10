#include "samite/toolchain/object_cache.h"

#include "samite/base/atomic_file.h"
#include "samite/base/trace.h"
#include "samite/base/warning.h"
#include "samite/toolchain/cache_ownership.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <random>
#include <system_error>
#include <vector>

namespace samite {
namespace {

namespace fs = std::filesystem;

constexpr std::time_t leftover_age_seconds = 3600;
constexpr std::time_t prune_interval_seconds = 60;

bool is_full(const std::error_code &code) {
  return code == std::errc::no_space_on_device || code == std::errc::file_too_large || code.value() == EDQUOT;
}

void warn_not_used(const std::system_error &error) {
  const char *remedy = is_full(error.code())
                           ? "Free some space, lower SAMITE_CACHE_LIMIT_MB, or set SAMITE_CACHE_DIR to another disk."
                           : "Set SAMITE_CACHE_DIR to a folder that this process may read and write; "
                             "SAMITE_CACHE_LIMIT_MB=0 switches the cache off.";
  warn_once("object cache, error " + std::to_string(error.code().value()),
            std::string("the kernel cache is not used: ") + error.what() +
                ". Kernels are compiled again in each process. " + remedy);
}

std::string manifest_begin(const Hash128 &key, std::uint64_t bytes) {
  return "samite object 1\nkey " + key.hex() + "\nbytes " + std::to_string(bytes) + "\nhash ";
}

// A manifest follows from key and content, so verification is a comparison.
std::string manifest_of(const Hash128 &key, std::string_view content) {
  return manifest_begin(key, content.size()) + hash_of({content}).hex() + "\n";
}

constexpr std::int64_t manifest_bytes_limit = 256;

// Empty for an entry that is damaged or may be another user's. Compares sizes before reading anything, so that a
// damaged file takes no more memory than an entry.
std::optional<std::string> verified_content(const fs::path &entry, const Hash128 &key) {
  const auto manifest = read_file_if(entry / "manifest", [](const struct stat &status) {
    return belongs_to_user_alone(status) && status.st_size <= manifest_bytes_limit;
  });
  auto content = read_file_if(entry / "content", [&](const struct stat &status) {
    return manifest && belongs_to_user_alone(status) &&
           manifest->starts_with(manifest_begin(key, static_cast<std::uint64_t>(status.st_size)));
  });
  if (!content || *manifest != manifest_of(key, *content)) return std::nullopt;
  return content;
}

void make_folder(const fs::path &path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return;
  throw std::system_error(errno, std::generic_category(), "cannot create " + path.string());
}

// A unique name in `unfinished`, across machines that share the folder.
fs::path unfinished_path(const fs::path &folder) {
  static std::atomic<std::uint64_t> counter{0};
  static const std::uint64_t seed = std::random_device()() ^ (std::uint64_t{std::random_device()()} << 32);
  Hasher name;
  name.add(seed).add(counter++).add(static_cast<std::uint64_t>(::getpid()));
  return folder / "unfinished" / name.result().hex();
}

// Renamed first, so that no reader sees a half-removed entry.
void discard(const fs::path &folder, const fs::path &entry) {
  const fs::path doomed = unfinished_path(folder);
  std::error_code ignored;  // another process may have removed it already
  fs::rename(entry, doomed, ignored);
  if (!ignored) fs::remove_all(doomed, ignored);
}

struct Entry {
  fs::path path;
  std::int64_t used_ns;
  std::uint64_t bytes;
};

std::optional<struct stat> status_of(const fs::path &path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

std::vector<Entry> entries_in(const fs::path &folder) {
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::directory_iterator at(folder / "objects", error), end; !error && at != end; at.increment(error)) {
    const auto status = status_of(at->path());
    if (!status) continue;
    std::uint64_t bytes = 0;
    for (const char *file : {"content", "manifest"})
      if (const auto part = status_of(at->path() / file)) bytes += static_cast<std::uint64_t>(part->st_size);
    entries.push_back({at->path(), status->st_mtim.tv_sec * 1'000'000'000LL + status->st_mtim.tv_nsec, bytes});
  }
  return entries;
}

void sweep_leftovers(const fs::path &folder) {
  std::error_code error, ignored;
  const std::time_t now = std::time(nullptr);
  for (fs::directory_iterator at(folder / "unfinished", error), end; !error && at != end; at.increment(error)) {
    const auto status = status_of(at->path());
    if (status && now - status->st_mtim.tv_sec > leftover_age_seconds) fs::remove_all(at->path(), ignored);
  }
}

// Held by the pruning process.
class PruneLock {
 public:
  explicit PruneLock(const fs::path &folder)
      : descriptor_(::open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    held_ = descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
    if (held_) ::futimens(descriptor_, nullptr);
  }
  PruneLock(const PruneLock &) = delete;
  PruneLock &operator=(const PruneLock &) = delete;
  ~PruneLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  bool held() const { return held_; }

 private:
  int descriptor_;
  bool held_;
};

}  // namespace

ObjectCache::ObjectCache(fs::path folder, std::uint64_t limit_bytes)
    : folder_(std::move(folder)), limit_bytes_(limit_bytes) {}

fs::path ObjectCache::entry_folder(const Hash128 &key) const { return folder_ / "objects" / key.hex(); }

std::optional<std::string> ObjectCache::find(const Hash128 &key) {
  if (limit_bytes_ == 0 || refused()) return std::nullopt;
  const TraceSpan traced("cache", "read from the disk cache");
  const fs::path entry = entry_folder(key);
  try {
    if (auto content = verified_content(entry, key)) {
      ::utimensat(AT_FDCWD, entry.c_str(), nullptr, 0);
      return content;
    }
    if (!may_write()) return std::nullopt;
    warn_once("object cache, damaged entry", "the kernel cache entry " + entry.string() +
                                                 " is damaged, or others may write to it; it is removed and the kernel "
                                                 "compiled again. If this happens often, check the disk.");
    discard(folder_, entry);
  } catch (const std::system_error &error) {
    const bool missing =
        error.code() == std::errc::no_such_file_or_directory || error.code() == std::errc::not_a_directory;
    if (!missing) warn_not_used(error);
    // An entry with only one of its two files is damaged, too, unless another process is removing the entry.
    if (missing && may_write() && status_of(entry)) discard(folder_, entry);
  }
  return std::nullopt;
}

void ObjectCache::publish(const Hash128 &key, std::string_view content) {
  if (limit_bytes_ == 0 || is_only_read(folder_)) return;
  fs::path unfinished;
  const auto remove_unfinished = [&] {
    std::error_code ignored;
    if (!unfinished.empty()) fs::remove_all(unfinished, ignored);
  };
  try {
    fs::create_directories(folder_.parent_path());
    make_folder(folder_);
    if (refused()) return;
    make_folder(folder_ / "objects");
    make_folder(folder_ / "unfinished");
    unfinished = unfinished_path(folder_);
    make_folder(unfinished);
    write_file(unfinished / "content", content);
    write_file(unfinished / "manifest", manifest_of(key, content));
    std::error_code error;
    fs::rename(unfinished, entry_folder(key), error);
    // Another process was first; its entry is equivalent.
    const bool present = error == std::errc::file_exists || error == std::errc::directory_not_empty;
    if (error && !present) throw std::system_error(error, "cannot publish " + entry_folder(key).string());
    if (present) fs::remove_all(unfinished, error);
  } catch (const std::system_error &error) {
    warn_not_used(error);
    remove_unfinished();
    if (is_full(error.code())) prune();
    return;
  } catch (...) {
    remove_unfinished();
    throw;
  }
  prune_if_due(content.size());
}

void ObjectCache::remove(const Hash128 &key) {
  if (limit_bytes_ != 0 && may_write()) discard(folder_, entry_folder(key));
}

std::optional<std::string> ObjectCache::refusal() const {
  // Entries are in subfolders, which need the same protection.
  for (const fs::path &folder : {folder_, folder_ / "objects", folder_ / "unfinished"})
    if (auto reason = reason_not_to_use(folder)) return reason;
  return std::nullopt;
}

bool ObjectCache::refused() const {
  const auto reason = refusal();
  if (reason)
    warn_once("object cache, refused " + folder_.string(),
              "the kernel cache is not used: " + *reason + " Kernels are compiled again in each process.");
  return reason.has_value();
}

bool ObjectCache::may_write() const { return !refused() && !is_only_read(folder_); }

std::vector<ObjectCache::Listed> ObjectCache::list() const {
  std::vector<Listed> listed;
  if (refused()) return listed;
  for (const Entry &entry : entries_in(folder_)) {
    const auto key = hash_from_hex(entry.path.filename().string());
    if (!key) continue;
    bool intact = false;
    try {
      intact = verified_content(entry.path, *key).has_value();
    } catch (const std::system_error &) {  // NOLINT(bugprone-empty-catch)
      // Not readable, or removed meanwhile.
    }
    listed.push_back({*key, entry.bytes, entry.used_ns / 1'000'000'000, intact});
  }
  std::ranges::sort(listed, {}, &Listed::key);
  return listed;
}

ObjectCache::Usage ObjectCache::usage() const {
  Usage total;
  for (const Entry &entry : entries_in(folder_)) {
    ++total.entries;
    total.bytes += entry.bytes;
  }
  return total;
}

void ObjectCache::clear() {
  if (!may_write()) return;
  for (const Entry &entry : entries_in(folder_)) discard(folder_, entry.path);
}

void ObjectCache::prune() {
  if (!may_write()) return;
  const PruneLock lock(folder_);
  if (!lock.held()) return;
  published_since_prune_ = 0;
  sweep_leftovers(folder_);
  std::vector<Entry> entries = entries_in(folder_);
  std::uint64_t total = 0;
  for (const Entry &entry : entries) total += entry.bytes;
  if (total <= limit_bytes_) return;
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) { return a.used_ns < b.used_ns; });
  const std::uint64_t wanted = limit_bytes_ / 10 * 9;
  for (const Entry &entry : entries) {
    if (total <= wanted) break;
    discard(folder_, entry.path);
    total -= entry.bytes;
  }
}

void ObjectCache::prune_if_due(std::uint64_t published_bytes) {
  const std::uint64_t published = published_since_prune_ += published_bytes;
  bool due = published > limit_bytes_ / 16;
  if (first_publish_.exchange(false)) {
    const auto last = status_of(folder_ / "lock");
    due = due || !last || std::time(nullptr) - last->st_mtim.tv_sec > prune_interval_seconds;
  }
  if (due) prune();
}

}  // namespace samite
