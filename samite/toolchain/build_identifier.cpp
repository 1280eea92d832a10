#include "samite/toolchain/build_identifier.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace samite {
namespace {

struct ElfFile {
  int descriptor;
  explicit ElfFile(const std::filesystem::path &path) : descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ElfFile(const ElfFile &) = delete;
  ElfFile &operator=(const ElfFile &) = delete;
  ~ElfFile() {
    if (descriptor >= 0) ::close(descriptor);
  }
  bool read(void *to, std::size_t bytes, std::uint64_t from) const {
    return ::pread(descriptor, to, bytes, static_cast<off_t>(from)) == static_cast<ssize_t>(bytes);
  }
};

std::size_t padded(std::size_t bytes) { return (bytes + 3) & ~std::size_t{3}; }

std::string identifier_in_notes(const std::vector<char> &notes) {
  std::size_t at = 0;
  while (at + sizeof(Elf64_Nhdr) <= notes.size()) {
    Elf64_Nhdr header;
    std::memcpy(&header, notes.data() + at, sizeof header);
    const std::size_t name = at + sizeof header, value = name + padded(header.n_namesz);
    if (value + header.n_descsz > notes.size()) break;
    if (header.n_type == NT_GNU_BUILD_ID && std::memcmp(notes.data() + name, "GNU", 4) == 0) {
      std::string hex;
      for (std::size_t i = 0; i < header.n_descsz; ++i) {
        const auto byte = static_cast<unsigned char>(notes[value + i]);
        hex += "0123456789abcdef"[byte >> 4];
        hex += "0123456789abcdef"[byte & 15];
      }
      return hex;
    }
    at = value + padded(header.n_descsz);
  }
  return {};
}

std::string identifier_in_elf(const ElfFile &file) {
  constexpr std::size_t longest_notes = 1 << 16;
  Elf64_Ehdr header;
  if (!file.read(&header, sizeof header, 0) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return {};
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!file.read(&segment, sizeof segment, header.e_phoff + i * sizeof segment)) return {};
    if (segment.p_type != PT_NOTE || segment.p_filesz > longest_notes) continue;
    std::vector<char> notes(segment.p_filesz);
    if (!file.read(notes.data(), notes.size(), segment.p_offset)) return {};
    if (std::string found = identifier_in_notes(notes); !found.empty()) return found;
  }
  return {};
}

}  // namespace

std::string build_identifier(const std::filesystem::path &library) {
  const ElfFile file(library);
  struct stat status{};
  if (file.descriptor < 0 || ::fstat(file.descriptor, &status) != 0) return {};
  if (std::string found = identifier_in_elf(file); !found.empty()) return found;
  return std::to_string(status.st_size) + " bytes of " + std::to_string(status.st_mtim.tv_sec) + "." +
         std::to_string(status.st_mtim.tv_nsec);
}

}  // namespace samite
