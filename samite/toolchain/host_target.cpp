#include "samite/toolchain/host_target.h"

#include "samite/base/atomic_file.h"
#include "samite/base/error.h"
#include "samite/base/hash.h"

#include <gnu/libc-version.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <system_error>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__linux__)
#include <sys/auxv.h>
#endif

namespace samite {
namespace {

#if defined(__x86_64__)

constexpr const char *architecture = "x86-64";

// The leaves that describe the model and its features, without those words that differ between the cores of one
// machine: leaf 1's EBX holds the number of the core that runs the instruction. Each is asked for once: in a virtual
// machine that takes microseconds.
Hash128 processor() {
  struct Leaf {
    unsigned number, sub;
    bool uses_ebx;
  };
  static constexpr Leaf leaves[] = {{0x0, 0, true},  {0x1, 0, false}, {0x7, 0, true},        {0x7, 1, true},
                                    {0x19, 0, true}, {0x24, 0, true}, {0x80000001, 0, true}, {0x80000008, 0, true}};
  constexpr unsigned extended = 0x80000000;
  const unsigned last = __get_cpuid_max(0, nullptr), last_extended = __get_cpuid_max(extended, nullptr);
  Hasher hasher;
  bool saves_registers = false;
  for (const Leaf &leaf : leaves) {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (leaf.number > (leaf.number >= extended ? last_extended : last)) continue;
    __cpuid_count(leaf.number, leaf.sub, eax, ebx, ecx, edx);
    hasher.add(eax).add(leaf.uses_ebx ? ebx : 0).add(ecx).add(edx);
    if (leaf.number == 1) saves_registers = (ecx & bit_OSXSAVE) != 0;
  }
  // What the operating system saves at a context switch decides whether wide registers may be used at all.
  if (saves_registers) {
    unsigned low = 0, high = 0;
    asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    hasher.add(low).add(high);
  }
  return hasher.result();
}

int widest_vector() {
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  const bool middle = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return wide ? 64 : middle ? 32 : 16;
}

#else

#if defined(__aarch64__)
constexpr const char *architecture = "aarch64";
#else
constexpr const char *architecture = "other";
#endif

Hash128 processor() {
  Hasher hasher;
  hasher.add(getauxval(AT_HWCAP)).add(getauxval(AT_HWCAP2));
  try {
    hasher.add(read_file("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1"));
  } catch (const std::system_error &) {
    hasher.add("unknown model");  // the feature words above still tell machines apart that must not share code
  }
  return hasher.result();
}

int widest_vector() { return 16; }

#endif

const HostTarget &machine() {
  static const HostTarget target{
      std::string(architecture) + " " + processor().hex() + " glibc " + gnu_get_libc_version(), widest_vector()};
  return target;
}

// The number in an environment variable, where that is set; -1 where it holds none.
std::optional<int> number_in(const char *variable) {
  const char *text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return std::nullopt;
  int number = 0;
  const char *end = text + std::strlen(text);
  const auto parsed = std::from_chars(text, end, number);
  return parsed.ec == std::errc() && parsed.ptr == end ? number : -1;
}

}  // namespace

HostTarget host_target() {
  HostTarget target = machine();
  const std::optional<int> bytes = number_in("SAMITE_CPU_VECTOR_BYTES");
  if (!bytes) return target;
  if ((bytes != 16 && bytes != 32 && bytes != 64) || *bytes > target.vector_bytes)
    throw UserError("SAMITE_CPU_VECTOR_BYTES is \"" + std::string(std::getenv("SAMITE_CPU_VECTOR_BYTES")) +
                    "\"; this machine can do 16" + (target.vector_bytes >= 32 ? ", 32" : "") +
                    (target.vector_bytes >= 64 ? ", 64" : "") + ". Unset it to use the widest.");
  target.vector_bytes = *bytes;
  return target;
}

int host_optimization() {
  const int level = number_in("SAMITE_CPU_OPTIMIZATION").value_or(2);
  if (level < 0 || level > 3)
    throw UserError("SAMITE_CPU_OPTIMIZATION is \"" + std::string(std::getenv("SAMITE_CPU_OPTIMIZATION")) +
                    "\"; it can be 0, 1, 2 or 3. Unset it for 2.");
  return level;
}

}  // namespace samite
