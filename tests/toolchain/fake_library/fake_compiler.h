// Common code of the fake NVRTC: it counts its calls and fails the one that it is told to, and makes an image with the
// names of the kernels in a text, and without code.
#pragma once

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace samite::test {

// Safe for several threads.
class FakeCompiler {
 public:
  // The environment variable may have a call's number and its result, "2 11", for calls made when the library is
  // opened.
  explicit FakeCompiler(const char *variable) {
    if (const char *text = std::getenv(variable)) std::sscanf(text, "%d %d", &failing_, &result_);
  }

  // The call of this number, counted from 1 from now on, has this result and no effect. 0 means no call.
  void fail(int number, int result) {
    const std::lock_guard lock(mutex_);
    count_ = 0;
    failing_ = number;
    result_ = result;
  }
  // The result of a starting call; 0 if it does not fail.
  int begin(const char *call) {
    const std::lock_guard lock(mutex_);
    if (count_ < most) calls_[static_cast<std::size_t>(count_)] = call;
    return ++count_ == failing_ ? result_ : 0;
  }
  // The name of a call since the last `fail`; null if there were not this many.
  const char *call(int number) {
    const std::lock_guard lock(mutex_);
    return number >= 1 && number <= std::min(count_, most) ? calls_[static_cast<std::size_t>(number) - 1] : nullptr;
  }

  void made() { count(1); }
  void destroyed() { count(-1); }
  int alive() {
    const std::lock_guard lock(mutex_);
    return alive_;
  }

 private:
  void count(int more) {
    const std::lock_guard lock(mutex_);
    alive_ += more;
  }

  // Without allocations, which a test may let fail, also in destructors.
  static constexpr int most = 1000;
  std::mutex mutex_;
  std::array<const char *, most> calls_{};
  int count_ = 0, failing_ = 0, result_ = 0, alive_ = 0;
};

// The kernels that a text defines: "\nkernel name" for each.
inline std::string kernels_in(std::string_view text) {
  std::string kernels;
  for (std::size_t at = text.find("__global__"); at != text.npos; at = text.find("__global__", at + 1))
    if (const std::size_t name = text.find("samite_", at); name != text.npos)
      kernels += "\nkernel " + std::string(text.substr(name, text.find('(', name) - name));
  return kernels;
}

// An image for sm_90 that has a section for each of the kernels.
inline std::string image_of(const std::string &kernels) {
  std::string names("\0.shstrtab\0", 11);
  std::vector<Elf64_Shdr> sections(2);
  for (std::size_t at = kernels.find("\nkernel "); at != kernels.npos; at = kernels.find("\nkernel ", at + 1)) {
    Elf64_Shdr section{};
    section.sh_name = static_cast<Elf64_Word>(names.size());
    section.sh_type = SHT_NOBITS;
    sections.push_back(section);
    const std::size_t name = at + 8;
    names += ".text." + kernels.substr(name, kernels.find('\n', name) - name) + '\0';
  }
  sections[1].sh_name = 1;
  sections[1].sh_type = SHT_STRTAB;
  sections[1].sh_offset = sizeof(Elf64_Ehdr);
  sections[1].sh_size = names.size();

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_ABIVERSION] = 7;
  header.e_machine = 190;
  header.e_flags = 90;
  header.e_shoff = sizeof header + names.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(sections.size());
  header.e_shstrndx = 1;
  return std::string(reinterpret_cast<const char *>(&header), sizeof header) + names +
         std::string(reinterpret_cast<const char *>(sections.data()), sections.size() * sizeof(Elf64_Shdr));
}

}  // namespace samite::test

// How a test that has opened the library reaches its fake.
#define SAMITE_FAKE_COMPILER_CONTROLS(fake)                                                 \
  extern "C" void samite_fake_fail(int number, int result) { fake().fail(number, result); } \
  extern "C" const char *samite_fake_call(int number) { return fake().call(number); }       \
  extern "C" int samite_fake_alive() { return fake().alive(); }
