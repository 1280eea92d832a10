// An empty object cache of this process and its children, for as long as the object lives.
#pragma once

#include <filesystem>

namespace samite::bench {

class CacheFolder {
 public:
  CacheFolder();
  ~CacheFolder();
  CacheFolder(const CacheFolder &) = delete;
  CacheFolder &operator=(const CacheFolder &) = delete;

  const std::filesystem::path &path() const { return path_; }
  // Makes $SAMITE_CACHE_DIR name this folder, after another one did.
  void use() const;

 private:
  std::filesystem::path path_;
};

}  // namespace samite::bench
