// No file that Samite ships may need the CUDA driver or its compilers in order to load.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <elf.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace samite::driver {
namespace {

namespace fs = std::filesystem;

template <class T>
T read_at(const std::string &bytes, std::size_t offset) {
  T value{};
  if (offset + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// The libraries that a file's dynamic section needs; empty if it is not an ELF file with one.
std::optional<std::vector<std::string>> needed_libraries(const fs::path &path) {
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::streamoff>(stream.tellg());
  if (size < SELFMAG) return std::nullopt;  // nor is a file that another test has removed meanwhile
  std::string bytes(static_cast<std::size_t>(size), '\0');
  stream.seekg(0).read(bytes.data(), SELFMAG);
  if (bytes.compare(0, SELFMAG, ELFMAG) != 0) return std::nullopt;
  stream.read(bytes.data() + SELFMAG, size - SELFMAG);

  const auto header = read_at<Elf64_Ehdr>(bytes, 0);
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const auto section = read_at<Elf64_Shdr>(bytes, header.e_shoff + i * header.e_shentsize);
    if (section.sh_type != SHT_DYNAMIC) continue;
    const auto strings = read_at<Elf64_Shdr>(bytes, header.e_shoff + section.sh_link * header.e_shentsize);
    std::vector<std::string> names;
    for (std::size_t offset = 0; offset < section.sh_size; offset += sizeof(Elf64_Dyn)) {
      const auto entry = read_at<Elf64_Dyn>(bytes, section.sh_offset + offset);
      if (entry.d_tag == DT_NEEDED) names.emplace_back(bytes.c_str() + strings.sh_offset + entry.d_un.d_val);
    }
    return names;
  }
  return std::nullopt;
}

bool is_cuda(const std::string &library) {
  for (const char *name : {"libcuda", "libnvrtc", "libnvJitLink", "libnvidia", "libcublas"})
    if (library.starts_with(name)) return true;
  return false;
}

TEST(Linkage, NothingNeedsCudaInOrderToLoad) {
  int files = 0;
  bool library = false;
  for (const fs::directory_entry &entry : fs::recursive_directory_iterator(SAMITE_BUILD_DIR)) {
    if (!entry.is_regular_file() || entry.path().extension() == ".o" || entry.path().extension() == ".a") continue;
    const std::optional<std::vector<std::string>> needed = needed_libraries(entry.path());
    if (!needed) continue;
    ++files;
    library = library || entry.path().filename().string().starts_with("libsamite.so");
    for (const std::string &name : *needed) EXPECT_FALSE(is_cuda(name)) << entry.path() << " is linked with " << name;
  }
  EXPECT_TRUE(library) << "libsamite.so was not found under " << SAMITE_BUILD_DIR;
  EXPECT_GE(files, 2);
}

TEST(Linkage, DynamicSectionIsRead) {
  const auto needed = needed_libraries("/proc/self/exe");

  ASSERT_TRUE(needed);
  EXPECT_THAT(*needed, testing::Contains(testing::StartsWith("libsamite.so")));
}

}  // namespace
}  // namespace samite::driver
