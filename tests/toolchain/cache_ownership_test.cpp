// A cache that others could have written to is neither read nor written. Only root can create files of another user;
// these tests are skipped otherwise.
#include "samite/base/atomic_file.h"
#include "samite/toolchain/object_cache.h"
#include "tests/base/temporary_folder.h"
#include "tests/toolchain/heard_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace samite {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr uid_t another_user = 12345;

class CacheOwnership : public testing::Test {
 protected:
  CacheOwnership() {
    cache_.publish(key_, "content");
    EXPECT_EQ(cache_.find(key_), "content");
  }

  void give_away(const fs::path &path) { ASSERT_EQ(::lchown(path.c_str(), another_user, another_user), 0); }

  void expect_refused_naming(const fs::path &path, const std::string &found, const std::string &remedy) {
    EXPECT_FALSE(cache_.find(key_));
    cache_.publish(hash_of({"new"}), "content");
    cache_.remove(key_);
    cache_.clear();
    cache_.prune();
    EXPECT_EQ(cache_.usage().entries, 1u) << "nothing is written, nor taken away";
    ASSERT_EQ(heard_.texts().size(), 1u);
    for (const char *fact : {"kernel cache is not used", path.c_str(), found.c_str(), remedy.c_str()})
      EXPECT_THAT(heard_.texts()[0], HasSubstr(fact));
  }

  test::TemporaryFolder above_;
  test::HeardWarnings heard_;
  fs::path folder_ = above_.path() / "cache";
  ObjectCache cache_{folder_, 1 << 30};
  Hash128 key_ = hash_of({"key"});
  fs::path entry_ = folder_ / "objects" / key_.hex();
};

TEST_F(CacheOwnership, AFolderThatTheGroupMayWriteIsRefused) {
  ASSERT_EQ(::chmod(folder_.c_str(), 0770), 0);
  expect_refused_naming(folder_, "0770", "chmod go-w " + folder_.string());
}

TEST_F(CacheOwnership, AFolderThatAnyoneMayWriteIsRefusedEvenWhereItIsSticky) {
  ASSERT_EQ(::chmod(folder_.c_str(), 01777), 0);
  expect_refused_naming(folder_, "1777", "chmod go-w " + folder_.string());
}

// Advice to change a device's permissions would be harmful if the process is root.
TEST_F(CacheOwnership, WhatIsNotAFolderIsRefusedWithoutAdviceToChangeIt) {
  const fs::path file = above_.path() / "file";
  write_file(file, "text");
  for (const fs::path &path : {file, fs::path("/dev/null")}) {
    const test::HeardWarnings heard;
    ObjectCache cache(path, 1 << 30);
    cache.publish(key_, "content");
    EXPECT_FALSE(cache.find(key_));
    ASSERT_EQ(heard.texts().size(), 1u);
    EXPECT_THAT(heard.texts()[0], HasSubstr(path.string() + " is not a folder"));
    EXPECT_THAT(heard.texts()[0], HasSubstr("SAMITE_CACHE_LIMIT_MB=0 switches the cache off"));
    EXPECT_THAT(heard.texts()[0], testing::Not(HasSubstr("chmod")));
  }
}

TEST_F(CacheOwnership, ACacheThatIsSwitchedOffLooksAtNoFolder) {
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  ObjectCache off(folder_, 0);
  off.publish(key_, "content");
  off.remove(key_);
  EXPECT_FALSE(off.find(key_));
  EXPECT_TRUE(heard_.texts().empty());
}

TEST_F(CacheOwnership, AFolderOfEntriesThatOthersMayWriteIsRefused) {
  ASSERT_EQ(::chmod((folder_ / "objects").c_str(), 0702), 0);
  expect_refused_naming(folder_ / "objects", "0702", "chmod go-w");
}

TEST_F(CacheOwnership, IsUsedAgainOnceItIsMended) {
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  EXPECT_FALSE(cache_.find(key_));
  ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
  EXPECT_EQ(cache_.find(key_), "content");
}

TEST_F(CacheOwnership, AFolderOfOnesOwnInOneThatAllMayWriteIsUsed) {
  ASSERT_EQ(::chmod(above_.path().c_str(), 01777), 0);
  EXPECT_EQ(cache_.find(key_), "content");
  EXPECT_TRUE(heard_.texts().empty());
}

TEST_F(CacheOwnership, ALinkOfOnesOwnIsFollowed) {
  fs::create_directory_symlink(folder_, above_.path() / "link");
  ObjectCache linked(above_.path() / "link", 1 << 30);
  EXPECT_EQ(linked.find(key_), "content");
  EXPECT_TRUE(heard_.texts().empty());
}

TEST_F(CacheOwnership, AFileThatOthersMayWriteIsADamagedEntry) {
  ASSERT_EQ(::chmod((entry_ / "content").c_str(), 0666), 0);
  EXPECT_FALSE(cache_.find(key_));
  EXPECT_FALSE(fs::exists(entry_));
  ASSERT_EQ(heard_.texts().size(), 1u);
  EXPECT_THAT(heard_.texts()[0], HasSubstr("others may write to it"));
}

TEST_F(CacheOwnership, APipeInPlaceOfAFileIsADamagedEntryAndNotWaitedFor) {
  fs::remove(entry_ / "content");
  ASSERT_EQ(::mkfifo((entry_ / "content").c_str(), 0600), 0);
  EXPECT_FALSE(cache_.find(key_));
  EXPECT_FALSE(fs::exists(entry_));
}

TEST_F(CacheOwnership, AFileThatHasGrownBeyondAllMemoryIsADamagedEntry) {
  fs::resize_file(entry_ / "content", std::uintmax_t{1} << 42);
  EXPECT_FALSE(cache_.find(key_));
  EXPECT_FALSE(fs::exists(entry_));
}

class CacheOfAnotherUser : public CacheOwnership {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can make what belongs to another user";
  }
};

// The result in a process of that user; the test itself is root.
template <class Check>
bool as_another_user(const Check &check) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::setuid(another_user) == 0 && check() ? 0 : 1);
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

TEST_F(CacheOfAnotherUser, RootsIsReadAndNotWritten) {
  ASSERT_EQ(::chmod(above_.path().c_str(), 0755), 0);
  for (const fs::path &path : {folder_, folder_ / "objects", folder_ / "unfinished", entry_})
    ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
  for (const char *file : {"content", "manifest"}) ASSERT_EQ(::chmod((entry_ / file).c_str(), 0644), 0);
  EXPECT_TRUE(as_another_user([&] {
    ObjectCache cache(folder_, 1 << 30);
    cache.publish(hash_of({"new"}), "content");
    cache.remove(key_);
    return cache.find(key_) == "content" && cache.usage().entries == 1 && heard_.texts().empty();
  }));
  ASSERT_EQ(::chmod((entry_ / "content").c_str(), 0666), 0);
  EXPECT_TRUE(as_another_user([&] {
    ObjectCache cache(folder_, 1 << 30);
    return !cache.find(key_) && fs::exists(entry_);
  })) << "a file that others may write is not read, and stays";
}

TEST_F(CacheOfAnotherUser, IsRefused) {
  give_away(folder_);
  expect_refused_naming(folder_, "belongs to user 12345, and this process runs as user 0", "Set SAMITE_CACHE_DIR");
}

TEST_F(CacheOfAnotherUser, IsRefusedWhereTheEntriesAreTheirs) {
  give_away(folder_ / "objects");
  expect_refused_naming(folder_ / "objects", "belongs to user 12345", "Set SAMITE_CACHE_DIR");
}

TEST_F(CacheOfAnotherUser, IsRefusedThroughALinkOfOnesOwn) {
  fs::create_directory_symlink(folder_, above_.path() / "link");
  give_away(folder_);
  ObjectCache linked(above_.path() / "link", 1 << 30);
  EXPECT_FALSE(linked.find(key_));
  ASSERT_EQ(heard_.texts().size(), 1u);
}

TEST_F(CacheOfAnotherUser, IsRefusedWhereTheLinkIsTheirs) {
  const fs::path link = above_.path() / "link";
  fs::create_directory_symlink(folder_, link);
  give_away(link);
  ObjectCache linked(link, 1 << 30);
  EXPECT_FALSE(linked.find(key_));
  ASSERT_EQ(heard_.texts().size(), 1u);
  EXPECT_THAT(heard_.texts()[0], HasSubstr("its link " + link.string() + " belongs to user 12345"));
}

TEST_F(CacheOfAnotherUser, AFileOfTheirsIsADamagedEntry) {
  give_away(entry_ / "content");
  EXPECT_FALSE(cache_.find(key_));
  EXPECT_FALSE(fs::exists(entry_));
}

}  // namespace
}  // namespace samite
