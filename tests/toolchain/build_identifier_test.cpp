#include "samite/toolchain/build_identifier.h"

#include "samite/base/atomic_file.h"
#include "tests/base/temporary_folder.h"

#include <gtest/gtest.h>

namespace samite {
namespace {

TEST(BuildIdentifier, OfALibraryIsTheLinkersNote) {
  const std::string identifier = build_identifier("/proc/self/exe");
  EXPECT_FALSE(identifier.empty());
  EXPECT_EQ(build_identifier("/proc/self/exe"), identifier);
}

TEST(BuildIdentifier, OfNoFileIsEmpty) { EXPECT_EQ(build_identifier("/nonexistent/library.so"), ""); }

TEST(BuildIdentifier, WithoutANoteIsSizeAndTime) {
  const test::TemporaryFolder folder;
  write_file(folder.path() / "library.so", "1234567");
  EXPECT_TRUE(build_identifier(folder.path() / "library.so").starts_with("7 bytes of "));
}

}  // namespace
}  // namespace samite
