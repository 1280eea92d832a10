// Compiled objects on disk, shared by any number of processes.
//
// An entry is a folder that appears by one rename, with its content and a manifest that holds key, size and hash. So
// a reader sees all of an entry or none, and what a crash of the machine or a bad disk has damaged fails the hash: it
// is taken for a miss, removed, and compiled again. Nothing waits for the disk.
//
//   <folder>/objects/<key>/{content,manifest}
//   <folder>/unfinished/      being written or removed; leftovers of killed processes go after an hour
//   <folder>/lock             held while pruning; its time is that of the last pruning
//
// The cache never stops a compile: a folder that is missing, unwritable or full, and an entry that is damaged, give
// one warning for each cause in a process, with the path, the system's reason and the way to mend it.
//
// What is found runs as the user's own code: a folder that is another user's, or that others may write to, is neither
// read nor written, with a warning (toolchain/cache_ownership.h); an entry's file like that is taken for damaged.
//
// Pruning removes the entries that were not used for longest until nine tenths of the limit are left. It runs when a
// process publishes: at its first entry unless some process pruned in the last minute, and after each sixteenth of
// the limit that it has written since. One process prunes at a time, the others skip it. An entry of any age may go;
// whoever was about to read it finds a miss. Thread-safe.
#pragma once

#include "samite/base/hash.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace samite {

class ObjectCache {
 public:
  // A limit of 0 bytes is a cache that is switched off: it finds nothing and writes nothing.
  ObjectCache(std::filesystem::path folder, std::uint64_t limit_bytes);

  // The entry's content, verified; marks it as used.
  std::optional<std::string> find(const Hash128 &key);
  void publish(const Hash128 &key, std::string_view content);
  void remove(const Hash128 &key);

  struct Usage {
    std::uint64_t entries = 0, bytes = 0;
  };
  Usage usage() const;
  void clear();
  void prune();

  // Why the folder is not used, where it belongs to another user or others may write to it.
  std::optional<std::string> refusal() const;

  const std::filesystem::path &folder() const { return folder_; }
  std::uint64_t limit_bytes() const { return limit_bytes_; }

 private:
  std::filesystem::path entry_folder(const Hash128 &key) const;
  bool refused() const;
  void prune_if_due(std::uint64_t published_bytes);

  std::filesystem::path folder_;
  std::uint64_t limit_bytes_;
  std::atomic<std::uint64_t> published_since_prune_{0};
  std::atomic<bool> first_publish_{true};
};

// The user's cache: in $SAMITE_CACHE_DIR, else $XDG_CACHE_HOME/samite, else ~/.cache/samite; with a limit of
// $SAMITE_CACHE_LIMIT_MB, else 1024 MB. 0 MB, or no folder to put it in, is a cache that is switched off. The
// environment is read at each call. Throws UserError for a limit that is no number.
std::shared_ptr<ObjectCache> object_cache();

}  // namespace samite
