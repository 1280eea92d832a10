// Each call of the file system fails once: a full disk, a folder without permission, a write that is cut short.
#include "samite/base/atomic_file.h"
#include "samite/base/hash.h"
#include "samite/toolchain/object_cache.h"
#include "tests/base/temporary_folder.h"
#include "tests/faults/failing_file_call.h"
#include "tests/faults/setting.h"
#include "tests/toolchain/environment.h"
#include "tests/toolchain/heard_warnings.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace samite::test {
namespace {

namespace fs = std::filesystem;

constexpr int no_error = 0;

std::vector<int> errors_of_file_call(const std::string &call) {
  if (call == "mkdir") return {EACCES, ENOSPC, EROFS, EDQUOT, EMLINK, ENOENT};
  if (call == "open") return {EACCES, EMFILE, ENFILE, ENOSPC, EROFS, EIO, ENOMEM};
  if (call == "write") return {ENOSPC, EDQUOT, EFBIG, EIO, EINTR, no_error};
  if (call == "read") return {EIO, EINTR, EISDIR};
  if (call == "fstat") return {EIO, ENOMEM};
  if (call == "fsync") return {EIO, ENOSPC, EDQUOT};
  if (call == "close") return {EIO, ENOSPC, EDQUOT, EINTR};
  return {EACCES, ENOSPC, EROFS, EXDEV, EIO};  // rename
}

bool is_harmless(const std::string &call, int error) {
  return error == EINTR || (call == "write" && error == no_error);
}

int entries_in(const fs::path &folder) {
  std::error_code ignored;
  return static_cast<int>(std::distance(fs::directory_iterator(folder, ignored), fs::directory_iterator()));
}

// Runs `action` once for each of its calls and each error of that call; `check` sees the outcome.
void sweep_file_calls(const std::function<void()> &prepare, const std::function<void()> &action,
                      const std::function<void(const std::string &call, int error)> &check) {
  std::vector<std::string> calls;
  prepare();
  {
    const FailingFileCall none(0, 0);
    action();
    calls = none.calls();
  }
  ASSERT_FALSE(calls.empty());
  for (std::size_t i = 0; i < calls.size(); ++i)
    for (const int error : errors_of_file_call(calls[i])) {
      SCOPED_TRACE(fmt::format("call {} of {}, {}, fails: {}", i + 1, calls.size(), calls[i], std::strerror(error)));
      prepare();
      {
        const FailingFileCall failing(static_cast<int>(i) + 1, error);
        action();
      }
      check(calls[i], error);
      FaultCount::instance().add(calls[i]);
    }
}

class EachFileCall : public testing::Test {
 protected:
  void expect_nothing_half_done() const {
    EXPECT_EQ(entries_in(folder_.path() / "cache" / "unfinished"), 0);
    std::error_code ignored;
    for (fs::directory_iterator entry(folder_.path() / "cache" / "objects", ignored), end; entry != end; ++entry)
      EXPECT_TRUE(fs::exists(entry->path() / "content") && fs::exists(entry->path() / "manifest"));
  }

  TemporaryFolder folder_;
  Hash128 key_ = hash_of({"key"});
  std::string content_ = std::string(5000, 'x');
};

TEST_F(EachFileCall, OfPublishingAnEntry) {
  std::optional<HeardWarnings> heard;
  sweep_file_calls(
      [&] {
        fs::remove_all(folder_.path() / "cache");
        heard.reset();
        heard.emplace();
      },
      [&] { ObjectCache(folder_.path() / "cache", 1 << 30).publish(key_, content_); },
      [&](const std::string &call, int error) {
        ObjectCache cache(folder_.path() / "cache", 1 << 30);
        const auto found = cache.find(key_);
        EXPECT_TRUE(!found || *found == content_) << "something wrong is found";
        EXPECT_TRUE(found || !heard->texts().empty()) << "no warning says why";
        if (is_harmless(call, error)) {
          EXPECT_TRUE(found);
        }
        expect_nothing_half_done();
        cache.publish(key_, content_);
        EXPECT_EQ(cache.find(key_), content_) << "the next time it is published";
      });
}

TEST_F(EachFileCall, OfFindingAnEntry) {
  ObjectCache cache(folder_.path() / "cache", 1 << 30);
  std::optional<std::string> found;
  std::optional<HeardWarnings> heard;
  sweep_file_calls(
      [&] {
        cache.publish(key_, content_);
        heard.reset();
        heard.emplace();
      },
      [&] { found = cache.find(key_); },
      [&](const std::string &call, int error) {
        EXPECT_TRUE(!found || *found == content_) << "something wrong is found";
        EXPECT_TRUE(found || !heard->texts().empty()) << "no warning says why";
        if (is_harmless(call, error)) {
          EXPECT_TRUE(found);
        }
        expect_nothing_half_done();
      });
}

TEST_F(EachFileCall, OfReplacingAFile) {
  const fs::path file = folder_.path() / "file";
  bool failed = false;
  sweep_file_calls(
      [&] {
        write_file(file, "before");
        failed = false;
      },
      [&] {
        try {
          write_file_atomically(file, "after that");
        } catch (const std::system_error &) {
          failed = true;
        }
      },
      [&](const std::string &call, int error) {
        const std::string now = read_file(file);
        EXPECT_TRUE(now == "after that" || (failed && now == "before")) << now;
        EXPECT_TRUE(failed || is_harmless(call, error) || (call == "close" && now == "after that"));
        EXPECT_EQ(entries_in(folder_.path()), 1) << "a temporary file is left";
      });
}

// Nothing depends on the cache.
TEST_F(EachFileCall, OfALaunchWhoseKernelIsCompiled) {
  const EnvironmentVariable cache("SAMITE_CACHE_DIR", folder_.path() / "cache"), limit("SAMITE_CACHE_LIMIT_MB", "100");
  std::optional<HeardWarnings> heard;
  sweep_file_calls(
      [&] {
        fs::remove_all(folder_.path() / "cache");
        heard.reset();
        heard.emplace();
      },
      [] {
        driver::fake::FakeDriver fake;
        EXPECT_FALSE(attempt(launch_scenarios()[0], fake).threw);
      },
      [&](const std::string &, int) { expect_nothing_half_done(); });
}

TEST(FullDisk, IsTold) {
  const auto write = [] { write_file("/dev/full", "content"); };
  EXPECT_THAT(write, testing::ThrowsMessage<std::system_error>(testing::HasSubstr("cannot write /dev/full: No space")));
}

}  // namespace
}  // namespace samite::test
