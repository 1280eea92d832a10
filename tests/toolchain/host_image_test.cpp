#include "samite/toolchain/host_image.h"

#include "samite/base/error.h"
#include "tests/base/temporary_folder.h"
#include "tests/runtime/message_of.h"
#include "tests/toolchain/environment.h"
#include "tests/toolchain/sample_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace samite {
namespace {

using testing::HasSubstr;

TEST(HostImage, BytesThatAreNoSharedObjectAreRefusedInTheLoadersWords) {
  const std::string message = message_of<DeviceError>([] { HostImage::load("mine", "these are no instructions"); });
  EXPECT_THAT(message, HasSubstr("\"mine\""));
  EXPECT_THAT(message, HasSubstr("file too short"));
}

// Later, with several threads, a launch would wait 20 ms for it.
TEST(HostImage, TheTableOfDescriptorsHasGrownWhenTheLibraryWasLoaded) {
  std::ifstream status("/proc/self/status");
  std::string word;
  long size = 0;
  while (status >> word)
    if (word == "FDSize:") status >> size;
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_GT(size, static_cast<long>(std::min<rlim_t>(limit.rlim_cur, 4096)) * 3 / 4);
}

TEST(HostImage, AMissingSymbolIsNamed) {
  const test::TemporaryFolder folder;
  const test::EnvironmentVariable cache("SAMITE_CACHE_DIR", folder.path());
  const auto image = compile_host(test::adding("1."), test::sample_prelude).image;
  EXPECT_THAT(message_of<DeviceError>([&] { image->symbol("subtract"); }), HasSubstr("subtract"));
}

TEST(HostImage, StaysInTheFolderThatTheEnvironmentNames) {
  const test::TemporaryFolder folder;
  const test::EnvironmentVariable cache("SAMITE_CACHE_DIR", folder.path() / "cache");
  const test::EnvironmentVariable images("SAMITE_IMAGES", folder.path() / "images");
  // The same text, and so the same file.
  for (const char *amount : {"20.", "21.", "21."})
    EXPECT_GT(test::run_add(*compile_host(test::adding(amount), test::sample_prelude).image), 0);
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(folder.path() / "images"))
    names.push_back(entry.path().filename().string());
  EXPECT_THAT(names, testing::SizeIs(2));
  EXPECT_THAT(names, testing::Each(testing::EndsWith(".so")));
}

TEST(HostImage, AFolderThatCannotBeMadeIsNamed) {
  const test::TemporaryFolder folder;
  const test::EnvironmentVariable cache("SAMITE_CACHE_DIR", folder.path());
  const test::EnvironmentVariable images("SAMITE_IMAGES", "/proc/nowhere");
  EXPECT_THAT(message_of<DeviceError>([] { compile_host(test::adding("22."), test::sample_prelude); }),
              HasSubstr("/proc/nowhere"));
}

// The loader identifies libraries by path, and every image is loaded through a descriptor whose number is reused.
TEST(HostImage, ManyImagesWithTheSameSymbolStayApart) {
  const test::TemporaryFolder folder;
  const test::EnvironmentVariable cache("SAMITE_CACHE_DIR", folder.path());
  std::vector<std::shared_ptr<const HostImage>> images;
  for (int i = 0; i < 5; ++i)
    images.push_back(compile_host(test::adding(std::to_string(i) + "."), test::sample_prelude).image);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(test::run_add(*images[i]), 55 + 10 * i);
}

}  // namespace
}  // namespace samite
