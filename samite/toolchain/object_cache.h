// Compiled objects on disk, shared by any number of processes.
//
// An entry is a folder that one rename publishes, with its content and a manifest with key, size and hash. So a reader
// sees a whole entry or none, and damage by a crash or a bad disk fails the hash: it is treated as a miss, removed, and
// compiled again. No write waits for the disk.
//
//   <folder>/objects/<key>/{content,manifest}
//   <folder>/unfinished/      being written or removed; leftovers of killed processes go after an hour
//   <folder>/lock             held while pruning; its time is that of the last pruning
//
// The cache never fails a compile: a missing, unwritable or full folder, and a damaged entry, give one warning for each
// cause in a process, with the path, the system's reason and the fix.
//
// Cached code runs as the user's own: a folder of another user, or that others may write to, is neither read nor
// written, with a warning (toolchain/cache_ownership.h); such files of an entry are treated as damaged. A folder of
// root's is read, and not written.
//
// Pruning removes the least recently used entries until nine tenths of the limit are left. It runs when a process
// publishes: at its first entry unless some process pruned in the last minute, and whenever it has written another
// sixteenth of the limit. One process prunes at a time, the others skip it. Any entry may be removed; a concurrent
// reader gets a miss. Thread-safe.
#pragma once

#include "samite/base/hash.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace samite {

class ObjectCache {
 public:
  // A limit of 0 bytes disables the cache: it finds nothing and writes nothing.
  ObjectCache(std::filesystem::path folder, std::uint64_t limit_bytes);

  // The entry's content, verified; marks it as used.
  std::optional<std::string> find(const Hash128 &key);
  void publish(const Hash128 &key, std::string_view content);
  void remove(const Hash128 &key);

  struct Usage {
    std::uint64_t entries = 0, bytes = 0;
  };
  Usage usage() const;

  // For tools: every entry, in the order of the keys, and whether its content is as published.
  struct Listed {
    Hash128 key;
    std::uint64_t bytes;
    std::int64_t used;  // seconds since 1970
    bool intact;
  };
  std::vector<Listed> list() const;
  void clear();
  void prune();

  // The reason not to use the folder, if it belongs to another user or others may write to it.
  std::optional<std::string> refusal() const;

  const std::filesystem::path &folder() const { return folder_; }
  std::uint64_t limit_bytes() const { return limit_bytes_; }

 private:
  std::filesystem::path entry_folder(const Hash128 &key) const;
  bool refused() const;
  bool may_write() const;
  void prune_if_due(std::uint64_t published_bytes);

  std::filesystem::path folder_;
  std::uint64_t limit_bytes_;
  std::atomic<std::uint64_t> published_since_prune_{0};
  std::atomic<bool> first_publish_{true};
};

// The user's cache: in $SAMITE_CACHE_DIR, else $XDG_CACHE_HOME/samite, else ~/.cache/samite; with a limit of
// $SAMITE_CACHE_LIMIT_MB, default 1024 MB. 0 MB, or no folder for it, disables the cache. The environment is read at
// each call. Throws UserError for an invalid limit.
std::shared_ptr<ObjectCache> object_cache();

}  // namespace samite
