// The object cache when the disk fails, another process interferes, or one crashes. Nothing here may throw, and no
// wrong entry may be found.
#include "samite/base/atomic_file.h"
#include "samite/toolchain/object_cache.h"
#include "tests/base/temporary_folder.h"
#include "tests/toolchain/child_process.h"
#include "tests/toolchain/heard_warnings.h"
#include "tests/toolchain/numbered_content.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace samite {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::uint64_t no_limit = 1 << 30;

class DamagedEntry : public testing::Test {
 protected:
  DamagedEntry() { cache_.publish(key_, content_); }

  void expect_removed_with_a_warning() {
    EXPECT_FALSE(cache_.find(key_));
    EXPECT_FALSE(fs::exists(entry_));
    ASSERT_EQ(heard_.texts().size(), 1u);
    EXPECT_THAT(heard_.texts()[0], HasSubstr(entry_.string()));
    EXPECT_THAT(heard_.texts()[0], HasSubstr("damaged"));
    cache_.publish(key_, content_);
    EXPECT_EQ(cache_.find(key_), content_);
  }

  test::TemporaryFolder folder_;
  test::HeardWarnings heard_;
  ObjectCache cache_{folder_.path(), no_limit};
  Hash128 key_ = hash_of({"key"});
  std::string content_ = std::string(5000, 'x');
  fs::path entry_ = folder_.path() / "objects" / key_.hex();
};

TEST_F(DamagedEntry, WithOneFlippedBitIsAMiss) {
  std::string bytes = content_;
  bytes[3210] ^= 1;
  write_file(entry_ / "content", bytes);
  expect_removed_with_a_warning();
}

TEST_F(DamagedEntry, ThatIsCutShortIsAMiss) {
  fs::resize_file(entry_ / "content", 1234);
  expect_removed_with_a_warning();
}

TEST_F(DamagedEntry, WithAnEmptyManifestIsAMiss) {
  fs::resize_file(entry_ / "manifest", 0);
  expect_removed_with_a_warning();
}

TEST_F(DamagedEntry, UnderTheNameOfAnotherIsAMiss) {
  const Hash128 other = hash_of({"other"});
  fs::rename(entry_, folder_.path() / "objects" / other.hex());
  EXPECT_FALSE(cache_.find(other));
}

TEST_F(DamagedEntry, WithoutItsManifestIsAMissAndReplaced) {
  fs::remove(entry_ / "manifest");
  EXPECT_FALSE(cache_.find(key_));
  cache_.publish(key_, content_);
  EXPECT_EQ(cache_.find(key_), content_);
}

TEST(UnusableCache, ThatIsAFileGivesOneWarningThatSaysHowToMendIt) {
  const test::TemporaryFolder folder;
  const test::HeardWarnings heard;
  write_file(folder.path() / "file", "");
  ObjectCache cache(folder.path() / "file", no_limit);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(cache.find(hash_of({"key"})));
    cache.publish(hash_of({"key"}), "content");
  }
  ASSERT_EQ(heard.texts().size(), 1u);
  EXPECT_THAT(heard.texts()[0], HasSubstr((folder.path() / "file").string()));
  EXPECT_THAT(heard.texts()[0], HasSubstr("is not a folder"));
  EXPECT_THAT(heard.texts()[0], HasSubstr("Set SAMITE_CACHE_DIR to a folder"));
}

// Root may write everywhere except where the file system itself refuses, as /proc does.
TEST(UnusableCache, ThatCannotBeWrittenGivesOneWarningWithTheSystemsReason) {
  const test::HeardWarnings heard;
  ObjectCache cache("/proc/samite-cache", no_limit);
  cache.publish(hash_of({"key"}), "content");
  cache.publish(hash_of({"other"}), "content");
  ASSERT_EQ(heard.texts().size(), 1u);
  EXPECT_THAT(heard.texts()[0], HasSubstr("cannot create /proc/samite-cache: No such file or directory"));
}

void expect_nothing_wrong(ObjectCache &cache) {
  for (unsigned number = 0; number < test::numbered_contents; ++number) {
    const auto content = cache.find(test::numbered_key(number));
    ASSERT_TRUE(!content || *content == test::numbered_content(number)) << "wrong content of entry " << number;
  }
}

TEST(SharedCache, ProcessesThatAreKilledWhileWritingLeaveNothingWrong) {
  const test::TemporaryFolder folder;
  ObjectCache cache(folder.path(), no_limit);
  const test::HeardWarnings heard;
  for (int round = 0; round < 8; ++round) {
    test::ChildProcess first("publish_forever", {folder.path()}), second("publish_forever", {folder.path()});
    // On a busy machine it takes them a while to begin.
    const auto start = std::chrono::steady_clock::now();
    const auto end = start + std::chrono::milliseconds(40 + 7 * round), latest = start + std::chrono::seconds(30);
    const auto go_on = [&](auto now) { return now < end || (cache.usage().entries == 0 && now < latest); };
    while (go_on(std::chrono::steady_clock::now())) expect_nothing_wrong(cache);
    first.kill();
    second.kill();
    EXPECT_EQ(first.wait(), -9) << first.output();
    EXPECT_EQ(second.wait(), -9) << second.output();
    expect_nothing_wrong(cache);
  }
  EXPECT_TRUE(heard.texts().empty()) << heard.texts()[0];
  EXPECT_GT(cache.usage().entries, 0u);
}

}  // namespace
}  // namespace samite
