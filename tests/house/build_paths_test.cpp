// Shipped files name no folder of the machine that built them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <elf.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace samite {
namespace {

namespace fs = std::filesystem;

// The bytes of a file that are loaded with it. Debug information is not: it names whole paths, for debuggers.
std::string loaded_bytes(const fs::path &path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  const std::string bytes = text.str();
  if (!bytes.starts_with(ELFMAG)) return "";
  Elf64_Ehdr header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  std::string loaded;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    std::memcpy(&part, bytes.data() + header.e_phoff + i * header.e_phentsize, sizeof part);
    if (part.p_type == PT_LOAD) loaded += bytes.substr(part.p_offset, part.p_filesz);
  }
  return loaded;
}

std::vector<fs::path> shipped() {
  std::vector<fs::path> files;
  std::istringstream list(SAMITE_SHIPPED);
  for (std::string file; std::getline(list, file, '|');) files.emplace_back(file);
  return files;
}

TEST(BuildPaths, AreInNothingThatIsShipped) {
  for (const fs::path &file : shipped()) {
    const std::string bytes = loaded_bytes(file);
    EXPECT_THAT(bytes, testing::Not(testing::IsEmpty())) << file;
    for (const std::string folder : {SAMITE_SOURCE_DIR "/", SAMITE_BUILD_DIR "/"}) {
      const std::size_t at = bytes.find(folder);
      EXPECT_TRUE(at == std::string::npos) << file << " has " << bytes.substr(at, bytes.find('\0', at) - at);
    }
  }
}

// The search would find one: this program's own bytes have them.
TEST(BuildPaths, AreFoundWhereTheyAre) {
  const std::string bytes = loaded_bytes("/proc/self/exe");
  EXPECT_NE(bytes.find(SAMITE_SOURCE_DIR "/"), std::string::npos);
  EXPECT_NE(bytes.find(SAMITE_BUILD_DIR "/"), std::string::npos);
}

}  // namespace
}  // namespace samite
