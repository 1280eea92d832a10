// Headers leave no template to be linked: compilers spell the names of constrained templates in different ways, so that
// a program of another compiler than the library's would not find it.
#include "tests/house/text_of.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace samite::house {
namespace {

TEST(TemplateLinkage, NoHeaderDeclaresATemplateThatIsDefinedInTheLibrary) {
  const std::filesystem::path library = std::filesystem::path(SAMITE_SOURCE_DIR) / "samite";
  int headers = 0;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(library)) {
    if (entry.path().extension() != ".h") continue;
    ++headers;
    EXPECT_EQ(text_of(entry.path()).find("extern template"), std::string::npos) << entry.path();
  }
  EXPECT_GT(headers, 100);
}

}  // namespace
}  // namespace samite::house
