#include "bench/support/cache_folder.h"

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace samite::bench {

CacheFolder::CacheFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "samite-bench-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder can be made: " + pattern);
  path_ = pattern;
  use();
}

CacheFolder::~CacheFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void CacheFolder::use() const { setenv("SAMITE_CACHE_DIR", path_.c_str(), 1); }

}  // namespace samite::bench
