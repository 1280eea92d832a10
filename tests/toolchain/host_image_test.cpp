#include "samite/toolchain/host_image.h"

#include "samite/base/error.h"
#include "tests/base/temporary_folder.h"
#include "tests/runtime/message_of.h"
#include "tests/toolchain/environment.h"
#include "tests/toolchain/sample_kernel.h"

#include <gtest/gtest.h>

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

TEST(HostImage, AMissingSymbolIsNamed) {
  const test::TemporaryFolder folder;
  const test::EnvironmentVariable cache("SAMITE_CACHE_DIR", folder.path());
  const auto image = compile_host(test::adding("1."), test::sample_prelude).image;
  EXPECT_THAT(message_of<DeviceError>([&] { image->symbol("subtract"); }), HasSubstr("subtract"));
}

// The loader knows libraries by path, and every image is loaded through a descriptor whose number is used again.
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
