#include "samite/toolchain/object_cache.h"

#include "samite/base/error.h"
#include "tests/base/temporary_folder.h"
#include "tests/runtime/message_of.h"
#include "tests/toolchain/environment.h"
#include "tests/toolchain/heard_warnings.h"

#include <gtest/gtest.h>

#include <chrono>

namespace samite {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::uint64_t roomy = 1 << 30;

Hash128 key_of(const std::string &name) { return hash_of({name}); }

fs::path entry_of(const ObjectCache &cache, const std::string &name) {
  return cache.folder() / "objects" / key_of(name).hex();
}

void age(const fs::path &path, std::chrono::hours hours) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - hours);
}

TEST(ObjectCache, FindsWhatWasPublishedUnderTheSameKeyOnly) {
  const test::TemporaryFolder folder;
  ObjectCache cache(folder.path(), roomy);
  cache.publish(key_of("a"), "content");
  EXPECT_EQ(cache.find(key_of("a")), "content");
  EXPECT_FALSE(cache.find(key_of("b")));
}

TEST(ObjectCache, MakesItsFolderWithItsParents) {
  const test::TemporaryFolder folder;
  ObjectCache cache(folder.path() / "not" / "yet", roomy);
  cache.publish(key_of("a"), "content");
  EXPECT_EQ(cache.find(key_of("a")), "content");
}

TEST(ObjectCache, PublishingTwiceKeepsOneEntryAndNoLeftovers) {
  const test::TemporaryFolder folder;
  ObjectCache cache(folder.path(), roomy);
  cache.publish(key_of("a"), "content");
  cache.publish(key_of("a"), "content");
  EXPECT_EQ(cache.usage().entries, 1u);
  EXPECT_TRUE(fs::is_empty(folder.path() / "unfinished"));
}

TEST(ObjectCache, CountsAndClears) {
  const test::TemporaryFolder folder;
  ObjectCache cache(folder.path(), roomy);
  cache.publish(key_of("a"), std::string(1000, 'x'));
  cache.publish(key_of("b"), std::string(2000, 'x'));
  EXPECT_EQ(cache.usage().entries, 2u);
  EXPECT_GE(cache.usage().bytes, 3000u);
  cache.clear();
  EXPECT_EQ(cache.usage().entries, 0u);
  EXPECT_FALSE(cache.find(key_of("a")));
}

TEST(ObjectCache, WithoutRoomIsSwitchedOff) {
  const test::TemporaryFolder folder;
  ObjectCache cache(folder.path() / "cache", 0);
  cache.publish(key_of("a"), "content");
  EXPECT_FALSE(cache.find(key_of("a")));
  EXPECT_FALSE(fs::exists(folder.path() / "cache"));
}

TEST(ObjectCache, PruningRemovesWhatWasNotUsedForLongest) {
  const test::TemporaryFolder folder;
  ObjectCache cache(folder.path(), 3500);
  for (const char *name : {"old", "used", "new"}) cache.publish(key_of(name), std::string(900, 'x'));
  age(entry_of(cache, "old"), std::chrono::hours(3));
  age(entry_of(cache, "used"), std::chrono::hours(4));
  EXPECT_TRUE(cache.find(key_of("used"))) << "a hit makes the oldest entry the newest";
  cache.publish(key_of("newest"), std::string(900, 'x'));
  EXPECT_FALSE(cache.find(key_of("old")));
  for (const char *name : {"used", "new", "newest"}) EXPECT_TRUE(cache.find(key_of(name))) << name;
}

TEST(ObjectCache, StaysWithinItsLimitHoweverMuchIsPublished) {
  const test::TemporaryFolder folder;
  constexpr std::uint64_t limit = 200'000;
  ObjectCache cache(folder.path(), limit);
  for (int i = 0; i < 100; ++i) {
    cache.publish(key_of(std::to_string(i)), std::string(10'000, 'x'));
    ASSERT_LE(cache.usage().bytes, limit + limit / 16 + 10'200);
  }
  EXPECT_TRUE(cache.find(key_of("99")));
}

TEST(ObjectCache, LeftoversOfKilledProcessesGoAfterAnHour) {
  const test::TemporaryFolder folder;
  ObjectCache cache(folder.path(), roomy);
  cache.publish(key_of("a"), "content");
  fs::create_directory(folder.path() / "unfinished" / "abandoned");
  fs::create_directory(folder.path() / "unfinished" / "being written");
  age(folder.path() / "unfinished" / "abandoned", std::chrono::hours(2));
  cache.prune();
  EXPECT_FALSE(fs::exists(folder.path() / "unfinished" / "abandoned"));
  EXPECT_TRUE(fs::exists(folder.path() / "unfinished" / "being written"));
}

TEST(ObjectCacheOfTheUser, IsWhereTheEnvironmentSays) {
  const test::EnvironmentVariable own("SAMITE_CACHE_DIR", "/somewhere/own"), xdg("XDG_CACHE_HOME", "/somewhere/xdg"),
      home("HOME", "/somewhere/home");
  EXPECT_EQ(object_cache()->folder(), "/somewhere/own");
  const test::EnvironmentVariable no_own("SAMITE_CACHE_DIR", "");
  EXPECT_EQ(object_cache()->folder(), "/somewhere/xdg/samite");
  const test::EnvironmentVariable no_xdg("XDG_CACHE_HOME", "");
  EXPECT_EQ(object_cache()->folder(), "/somewhere/home/.cache/samite");
}

TEST(ObjectCacheOfTheUser, WithoutAnyFolderIsSwitchedOffWithAWarning) {
  const test::EnvironmentVariable own("SAMITE_CACHE_DIR", ""), xdg("XDG_CACHE_HOME", ""), home("HOME", "");
  const test::HeardWarnings heard;
  EXPECT_EQ(object_cache()->limit_bytes(), 0u);
  ASSERT_EQ(heard.texts().size(), 1u);
  EXPECT_THAT(heard.texts()[0], HasSubstr("Set SAMITE_CACHE_DIR"));
}

TEST(ObjectCacheOfTheUser, ThatIsSwitchedOffNeedsNoFolder) {
  const test::EnvironmentVariable own("SAMITE_CACHE_DIR", ""), xdg("XDG_CACHE_HOME", ""), home("HOME", ""),
      limit("SAMITE_CACHE_LIMIT_MB", "0");
  const test::HeardWarnings heard;
  EXPECT_EQ(object_cache()->limit_bytes(), 0u);
  EXPECT_TRUE(heard.texts().empty());
}

TEST(ObjectCacheOfTheUser, HasTheLimitThatTheEnvironmentSays) {
  const test::EnvironmentVariable own("SAMITE_CACHE_DIR", "/somewhere"), limit("SAMITE_CACHE_LIMIT_MB", "");
  EXPECT_EQ(object_cache()->limit_bytes(), 1024u << 20);
  const test::EnvironmentVariable smaller("SAMITE_CACHE_LIMIT_MB", "7");
  EXPECT_EQ(object_cache()->limit_bytes(), 7u << 20);
}

TEST(ObjectCacheOfTheUser, ALimitThatIsNoNumberIsRefused) {
  const test::EnvironmentVariable own("SAMITE_CACHE_DIR", "/somewhere"), limit("SAMITE_CACHE_LIMIT_MB", "1 GB");
  const std::string message = message_of<UserError>([] { object_cache(); });
  EXPECT_THAT(message, HasSubstr("SAMITE_CACHE_LIMIT_MB is \"1 GB\""));
  EXPECT_THAT(message, HasSubstr("whole number of megabytes"));
}

}  // namespace
}  // namespace samite
