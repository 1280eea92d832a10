// Two processes share one cache. One is killed repeatedly, at arbitrary points, while entries are damaged concurrently;
// whatever the other finds must be right. $SAMITE_CACHE_ROUNDS is the number of rounds, if set.
#include "samite/toolchain/object_cache.h"
#include "tests/base/temporary_folder.h"
#include "tests/toolchain/child_process.h"
#include "tests/toolchain/numbered_content.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <random>
#include <thread>

namespace samite {
namespace {

namespace fs = std::filesystem;

int round_count() {
  const char *rounds = std::getenv("SAMITE_CACHE_ROUNDS");
  return rounds != nullptr ? std::atoi(rounds) : 40;
}

// Damages existing files. Another process may have removed them meanwhile: failures are ignored.
class Damage {
 public:
  explicit Damage(fs::path folder) : folder_(std::move(folder)) {}

  void once() {
    const fs::path entry = any_entry(), file = entry / (below(2) != 0 ? "content" : "manifest");
    std::error_code ignored;
    const std::uintmax_t bytes = fs::file_size(file, ignored);
    switch (below(11)) {
      case 0: return fs::resize_file(file, below(1 + (ignored ? 0 : bytes)), ignored);
      case 1: return fs::resize_file(file, std::uintmax_t{1} << (10 + below(30)), ignored);
      case 2:
      case 3: return flip_a_bit(file, ignored ? 0 : bytes);
      case 4: fs::remove(file, ignored); return;
      case 5: fs::remove_all(entry, ignored); return;
      case 6: return exchange(entry, any_entry());
      case 7: return exchange(entry / "content", any_entry() / "content");
      case 8: ::chmod(file.c_str(), 0666); return;
      case 9:
        fs::remove(file, ignored);
        fs::create_directory(file, ignored);
        return;
      default: fs::remove_all(folder_ / (below(8) == 0 ? "unfinished" : "lock"), ignored);
    }
  }

  std::uint64_t below(std::uint64_t count) { return random_() % count; }

 private:
  fs::path any_entry() {
    const auto number = static_cast<unsigned>(below(test::numbered_contents));
    return folder_ / "objects" / test::numbered_key(number).hex();
  }

  void flip_a_bit(const fs::path &file, std::uintmax_t bytes) {
    if (bytes == 0) return;
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    const auto place = static_cast<std::streamoff>(below(bytes));
    stream.seekg(place);
    const int before = stream.get();
    stream.seekp(place);
    stream.put(static_cast<char>(before ^ (1 << below(8))));
  }

  void exchange(const fs::path &a, const fs::path &b) {
    std::error_code ignored;
    const fs::path aside = folder_.parent_path() / "aside";
    fs::rename(a, aside, ignored);
    fs::rename(b, a, ignored);
    fs::rename(aside, b, ignored);
    fs::remove_all(aside, ignored);
  }

  fs::path folder_;
  std::mt19937_64 random_{20};
};

TEST(CacheUnderDamage, HasNothingWrongWhereProcessesAreKilled) {
  const test::TemporaryFolder above;
  const fs::path folder = above.path() / "cache";
  Damage damage(folder);
  test::ChildProcess lasting("use_cache", {folder, "1"});
  const int rounds = round_count();
  for (int round = 0; round < rounds; ++round) {
    test::ChildProcess killed("use_cache", {folder, std::to_string(2 + round)});
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(damage.below(15'000));
    do {
      damage.once();
      std::this_thread::sleep_for(std::chrono::microseconds(damage.below(500)));
    } while (std::chrono::steady_clock::now() < end);
    killed.kill();
    ASSERT_EQ(killed.wait(), -9) << "in round " << round << ": " << killed.output();
  }
  std::ofstream(above.path() / "stop") << "";
  EXPECT_EQ(lasting.wait(), 0) << lasting.output();
  EXPECT_THAT(lasting.output(), testing::ContainsRegex("uses [0-9]+ hits [1-9]"));
  if (rounds > 1000) std::printf("%s", lasting.output().c_str());

  // A process that is killed leaves one folder at most, and these are gone once they are old.
  const auto leftovers = [&] {
    std::error_code none;
    return std::distance(fs::directory_iterator(folder / "unfinished", none), fs::directory_iterator());
  };
  EXPECT_LE(leftovers(), rounds);
  std::error_code none;
  for (const auto &leftover : fs::directory_iterator(folder / "unfinished", none))
    fs::last_write_time(leftover, fs::file_time_type::clock::now() - std::chrono::hours(2));
  ObjectCache cache(folder, 1'500'000);
  cache.publish(hash_of({"last"}), "content");
  cache.prune();
  EXPECT_EQ(leftovers(), 0);
  EXPECT_LE(cache.usage().bytes, 1'500'000u);
}

}  // namespace
}  // namespace samite
