#include "samite/toolchain/cuda_image.h"

#include "samite/base/error.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>

namespace samite {
namespace {

constexpr unsigned machine_cuda = 190;

// The two layouts of the header's flags: CUDA 12 writes the older up to sm_90, and CUDA 13 the newer for all.
constexpr unsigned abi_older = 7, abi_newer = 8;

constexpr unsigned char symbol_is_kernel = 0x10;

// Attributes in .nv.info: a byte of format, one of attribute, two of size or value. Those read here have a size, and
// name a function's symbol before the value.
constexpr unsigned char format_sized = 4;
constexpr unsigned char attribute_frame_bytes = 0x11, attribute_stack_bytes = 0x12, attribute_registers = 0x2f;
constexpr std::uint32_t unknown = 0xffffffff;  // e.g. the stack of a recursive function

// From sm_90 on a kernel's shared section begins with memory that the driver reserves.
constexpr int first_with_reserved_shared = 90;
constexpr std::size_t reserved_shared_bytes = 1024;

[[noreturn]] void fail(const std::string &reason) { throw DeviceError("reading a CUDA image", reason); }

// Bounds-checked access to the cubin.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  T at(std::size_t offset) const {
    T value;
    const std::string_view bytes = part(offset, sizeof value);
    std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  std::string_view part(std::size_t offset, std::size_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset)
      fail("it is damaged: it ends before what it speaks of");
    return bytes_.substr(offset, size);
  }
  std::string_view text(std::size_t offset) const {
    const std::string_view rest = part(offset, bytes_.size() - std::min(offset, bytes_.size()));
    return rest.substr(0, rest.find('\0'));
  }
  std::size_t size() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
};

struct Section {
  std::string_view name;
  Elf64_Shdr header;
};

struct Symbol {
  std::string_view name;
  Elf64_Sym entry;
};

class CubinReader {
 public:
  explicit CubinReader(std::string_view cubin) : file_(cubin), header_(file_.at<Elf64_Ehdr>(0)) {
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 || header_.e_machine != machine_cuda) fail("it is no cubin");
    const Bytes names = content(section_header(header_.e_shstrndx));
    for (unsigned i = 0; i < header_.e_shnum; ++i) {
      const Elf64_Shdr section = section_header(i);
      sections_.push_back({names.text(section.sh_name), section});
    }
    for (const Section &section : sections_)
      if (section.header.sh_type == SHT_SYMTAB) read_symbols(section.header);
  }

  int architecture() const {
    switch (header_.e_ident[EI_ABIVERSION]) {
      case abi_older: return static_cast<int>(header_.e_flags & 0xff);
      case abi_newer: return static_cast<int>(header_.e_flags >> 8 & 0xff);
      default: fail(fmt::format("its binary interface is version {}, not 7 or 8", header_.e_ident[EI_ABIVERSION]));
    }
  }

  const std::vector<Symbol> &symbols() const { return symbols_; }

  // A section's size in memory; sections of shared memory have no content.
  std::size_t section_bytes(const std::string &name) const {
    for (const Section &section : sections_)
      if (section.name == name) return section.header.sh_size;
    return 0;
  }

  std::size_t attribute(unsigned char attribute, std::size_t symbol) const {
    for (const Section &section : sections_) {
      if (section.name != ".nv.info") continue;
      const Bytes bytes = content(section.header);
      for (std::size_t at = 0; at + 4 <= bytes.size();) {
        const bool sized = bytes.at<std::uint8_t>(at) == format_sized;
        const std::size_t size = sized ? bytes.at<std::uint16_t>(at + 2) : 0;
        if (sized && size >= 8 && bytes.at<std::uint8_t>(at + 1) == attribute &&
            bytes.at<std::uint32_t>(at + 4) == symbol)
          return bytes.at<std::uint32_t>(at + 8) == unknown ? 0 : bytes.at<std::uint32_t>(at + 8);
        at += 4 + size;
      }
    }
    return 0;
  }

 private:
  Elf64_Shdr section_header(unsigned index) const {
    return file_.at<Elf64_Shdr>(header_.e_shoff + std::size_t{index} * sizeof(Elf64_Shdr));
  }
  Bytes content(const Elf64_Shdr &section) const { return Bytes(file_.part(section.sh_offset, section.sh_size)); }

  void read_symbols(const Elf64_Shdr &table) {
    const Bytes entries = content(table), names = content(section_header(table.sh_link));
    for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= entries.size(); at += sizeof(Elf64_Sym)) {
      const Elf64_Sym entry = entries.at<Elf64_Sym>(at);
      symbols_.push_back({names.text(entry.st_name), entry});
    }
  }

  Bytes file_;
  Elf64_Ehdr header_;
  std::vector<Section> sections_;
  std::vector<Symbol> symbols_;
};

// The number directly before `words`.
std::size_t number_before(std::string_view line, std::string_view words) {
  const std::size_t end = line.find(words);
  if (end == std::string_view::npos) return 0;
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  std::size_t number = 0;
  std::from_chars(line.data() + begin, line.data() + end, number);
  return number;
}

// ptxas warning : Registers are spilled to local memory in function 'f', 24 bytes spill stores, 32 bytes spill loads
void add_spills(CudaKernelResources &kernel, const std::string &function, std::string_view log) {
  const std::string words = "Registers are spilled to local memory in function '" + function + "'";
  const std::size_t at = log.find(words);
  if (at == std::string_view::npos) return;
  const std::string_view line = log.substr(at, log.find('\n', at) - at);
  kernel.spill_store_bytes += number_before(line, " bytes spill stores");
  kernel.spill_load_bytes += number_before(line, " bytes spill loads");
}

CudaKernelResources resources_of(const CubinReader &cubin, std::size_t symbol, std::string_view log) {
  CudaKernelResources kernel;
  kernel.name = cubin.symbols()[symbol].name;
  kernel.registers = static_cast<int>(cubin.attribute(attribute_registers, symbol));
  kernel.local_bytes =
      std::max(cubin.attribute(attribute_frame_bytes, symbol), cubin.attribute(attribute_stack_bytes, symbol));
  const std::size_t reserved = cubin.architecture() >= first_with_reserved_shared ? reserved_shared_bytes : 0;
  kernel.shared_bytes = std::max(cubin.section_bytes(".nv.shared." + kernel.name), reserved) - reserved;
  for (const char *bank : {".nv.constant0.", ".nv.constant2."})
    kernel.constant_bytes += cubin.section_bytes(bank + kernel.name);
  kernel.code_bytes = cubin.section_bytes(".text." + kernel.name);
  add_spills(kernel, kernel.name, log);
  // A function that was not inlined appears in its calling kernel as "$kernel$function".
  const std::string prefix = "$" + kernel.name + "$";
  for (const Symbol &other : cubin.symbols())
    if (other.name.starts_with(prefix)) add_spills(kernel, std::string(other.name.substr(prefix.size())), log);
  return kernel;
}

}  // namespace

CudaImageReport read_cuda_image(std::string_view cubin, std::string_view log) {
  const CubinReader reader(cubin);
  CudaImageReport report;
  report.architecture = reader.architecture();
  for (std::size_t i = 0; i < reader.symbols().size(); ++i)
    if ((reader.symbols()[i].entry.st_other & symbol_is_kernel) != 0)
      report.kernels.push_back(resources_of(reader, i, log));
  return report;
}

std::string CudaImageReport::to_string() const {
  std::string text;
  for (const CudaKernelResources &kernel : kernels)
    text += fmt::format(
        "{} for sm_{}: {} registers, {} bytes of shared, {} of local, {} of constant memory, {} of code; spills store "
        "{} "
        "bytes and load {}\n",
        kernel.name, architecture, kernel.registers, kernel.shared_bytes, kernel.local_bytes, kernel.constant_bytes,
        kernel.code_bytes, kernel.spill_store_bytes, kernel.spill_load_bytes);
  return text;
}

}  // namespace samite
