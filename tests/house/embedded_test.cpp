#include "samite/codegen/embedded.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace samite {
namespace {

namespace fs = std::filesystem;

// Byte for byte: the build cuts the text into string literals.
TEST(EmbeddedDeviceHeaders, AreTheFilesOfTheTree) {
  for (const EmbeddedFile &file : embedded_device_headers()) {
    std::ifstream stream(fs::path(SAMITE_SOURCE_DIR) / file.path, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    EXPECT_EQ(text.str(), file.text) << file.path;
  }
}

TEST(EmbeddedDeviceHeaders, AreAllOfThemInOrder) {
  std::vector<std::string> expected;
  const fs::path root = fs::path(SAMITE_SOURCE_DIR) / "samite/device";
  if (fs::exists(root))
    for (const fs::directory_entry &entry : fs::recursive_directory_iterator(root))
      if (entry.path().extension() == ".h")
        expected.push_back(fs::relative(entry.path(), SAMITE_SOURCE_DIR).generic_string());
  std::sort(expected.begin(), expected.end());

  std::vector<std::string> paths;
  for (const EmbeddedFile &file : embedded_device_headers()) paths.emplace_back(file.path);
  EXPECT_EQ(paths, expected);
}

}  // namespace
}  // namespace samite
