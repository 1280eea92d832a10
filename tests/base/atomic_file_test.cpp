#include "samite/base/atomic_file.h"

#include "tests/base/temporary_folder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <system_error>
#include <thread>

namespace samite {
namespace {

namespace fs = std::filesystem;

std::size_t files_in(const fs::path &folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(AtomicFile, WhatIsWrittenIsReadBackWhole) {
  const test::TemporaryFolder folder;
  const std::string bytes(100'000, '\x7f');
  write_file_atomically(folder.path() / "file", bytes);
  EXPECT_EQ(read_file(folder.path() / "file"), bytes);
}

TEST(AtomicFile, AnOldFileIsReplacedAndNoTemporaryStays) {
  const test::TemporaryFolder folder;
  write_file_atomically(folder.path() / "file", "a long old content");
  write_file_atomically(folder.path() / "file", "new");
  EXPECT_EQ(read_file(folder.path() / "file"), "new");
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(AtomicFile, AReaderSeesOneVersionWhole) {
  const test::TemporaryFolder folder;
  const fs::path path = folder.path() / "file";
  const std::string first(50'000, 'a'), second(70'000, 'b');
  write_file_atomically(path, first);
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (int i = 0; i < 50; ++i) write_file_atomically(path, i % 2 == 0 ? second : first);
    done = true;
  });
  while (!done) {
    const std::string seen = read_file(path);
    ASSERT_TRUE(seen == first || seen == second) << "a mixture of " << seen.size() << " bytes";
  }
  writer.join();
}

TEST(AtomicFile, AMissingFileIsNamedWithTheSystemsReason) {
  try {
    read_file("/nonexistent/file");
    FAIL() << "read a file that does not exist";
  } catch (const std::system_error &error) {
    EXPECT_EQ(error.code(), std::errc::no_such_file_or_directory);
    EXPECT_NE(std::string(error.what()).find("/nonexistent/file"), std::string::npos) << error.what();
  }
}

TEST(AtomicFile, IsReadWhereItsStatusIsWanted) {
  const test::TemporaryFolder folder;
  write_file(folder.path() / "file", "bytes");
  const auto read_of_size = [&](std::int64_t size) {
    return read_file_if(folder.path() / "file", [=](const struct stat &status) { return status.st_size == size; });
  };
  EXPECT_EQ(read_of_size(5), "bytes");
  EXPECT_EQ(read_of_size(6), std::nullopt);
}

// A process that damages a cache may make a file huge between the query of its size and the read.
TEST(AtomicFile, ThatGrowsOnceItsStatusIsKnownIsNotRead) {
  const test::TemporaryFolder folder;
  const fs::path path = folder.path() / "file";
  const auto read_resized_to = [&](std::uintmax_t bytes) {
    write_file(path, "bytes");
    return read_file_if(path, [&](const struct stat &) {
      fs::resize_file(path, bytes);
      return true;
    });
  };
  EXPECT_EQ(read_resized_to(std::uintmax_t{1} << 39), std::nullopt);
  EXPECT_EQ(read_resized_to(6), std::nullopt);
  EXPECT_EQ(read_resized_to(5), "bytes");
  EXPECT_EQ(read_resized_to(3), "byt");
  EXPECT_EQ(read_resized_to(0), "");
}

TEST(AtomicFile, WithoutASizeIsReadToItsEnd) {
  const std::string status = read_file("/proc/self/status");
  EXPECT_TRUE(status.starts_with("Name:")) << status;
  EXPECT_GT(status.size(), 100u);
  EXPECT_EQ(status.back(), '\n');
}

TEST(AtomicFile, AFailedReplacementLeavesNothingBehind) {
  const test::TemporaryFolder folder;
  fs::create_directory(folder.path() / "taken");
  EXPECT_THROW(write_file_atomically(folder.path() / "taken", "bytes"), std::system_error);
  EXPECT_EQ(files_in(folder.path()), 1u);
}

}  // namespace
}  // namespace samite
