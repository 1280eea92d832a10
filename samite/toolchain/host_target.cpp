#include "samite/toolchain/host_target.h"

#include "samite/base/error.h"
#include "samite/base/hash.h"
#include "samite/toolchain/processor_features.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__linux__)
#include <sys/auxv.h>
#endif

namespace samite {
namespace {

#if defined(__x86_64__)

constexpr const char *architecture = "x86-64";

class OwnProcessor : public Processor {
 public:
  CpuidRegisters cpuid(std::uint32_t leaf, std::uint32_t subleaf) const override {
    constexpr std::uint32_t extended = 0x80000000;
    CpuidRegisters found;
    if (leaf <= (leaf >= extended ? last_extended_ : last_))
      __cpuid_count(leaf, subleaf, found.eax, found.ebx, found.ecx, found.edx);
    return found;
  }

  std::uint64_t saved_registers() const override {
    if ((cpuid(1, 0).ecx & bit_OSXSAVE) == 0) return 0;
    std::uint32_t low = 0, high = 0;
    asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return std::uint64_t{high} << 32 | low;
  }

 private:
  // In a virtual machine each query takes microseconds.
  std::uint32_t last_ = __get_cpuid_max(0, nullptr), last_extended_ = __get_cpuid_max(0x80000000, nullptr);
};

Hash128 features() { return features_of(OwnProcessor()); }

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

Hash128 features() { return Hasher().add(getauxval(AT_HWCAP)).add(getauxval(AT_HWCAP2)).result(); }

int widest_vector() { return 16; }

#endif

const HostTarget &machine() {
  static const HostTarget target{.fingerprint = std::string(architecture) + " " + features().hex(),
                                 .architecture = "",
                                 .vector_bytes = widest_vector()};
  return target;
}

struct Level {
  std::string_view name;
  int vector_bytes;
  bool supported;
};

// The levels of the x86-64 ABI that the kernels' prelude supports.
const std::vector<Level> &levels() {
#if defined(__x86_64__)
  static const std::vector<Level> all = {{"x86-64-v2", 16, __builtin_cpu_supports("x86-64-v2") != 0},
                                         {"x86-64-v3", 32, __builtin_cpu_supports("x86-64-v3") != 0},
                                         {"x86-64-v4", 64, __builtin_cpu_supports("x86-64-v4") != 0}};
#else
  static const std::vector<Level> all;
#endif
  return all;
}

// The value of a variable that is set and not empty.
std::optional<std::string> text_in(const char *variable) {
  const char *text = std::getenv(variable);
  return text == nullptr || *text == '\0' ? std::nullopt : std::optional<std::string>(text);
}

const Level &level_named(const std::string &name) {
  std::string supported;
  for (const Level &level : levels()) {
    if (!level.supported) continue;
    if (level.name == name) return level;
    supported += (supported.empty() ? "" : ", ") + std::string(level.name);
  }
  throw UserError("SAMITE_CPU_ARCHITECTURE is \"" + name + "\"; this machine can do " +
                  (supported.empty() ? "none but its own" : supported) + ". Unset it to compile for this machine.");
}

// The number in an environment variable, if it is set; -1 if it is invalid.
std::optional<int> number_in(const char *variable) {
  const std::optional<std::string> text = text_in(variable);
  if (!text) return std::nullopt;
  int number = 0;
  const char *end = text->data() + text->size();
  const auto parsed = std::from_chars(text->data(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end ? number : -1;
}

}  // namespace

namespace {

// Applies the environment's settings for contraction and for the width of vectors.
HostTarget with_settings(HostTarget target) {
  const int contraction = number_in("SAMITE_CPU_CONTRACTION").value_or(1);
  if (contraction != 0 && contraction != 1)
    throw UserError("SAMITE_CPU_CONTRACTION is \"" + std::string(std::getenv("SAMITE_CPU_CONTRACTION")) +
                    "\"; it can be 0 or 1. Unset it for 1.");
  target.contraction = contraction == 1;
  const std::optional<int> bytes = number_in("SAMITE_CPU_VECTOR_BYTES");
  if (!bytes) return target;
  if (bytes != 16 && bytes != 32 && bytes != 64)
    throw UserError("SAMITE_CPU_VECTOR_BYTES is \"" + std::string(std::getenv("SAMITE_CPU_VECTOR_BYTES")) +
                    "\"; it can be 16, 32 or 64. This machine's vectors have " + std::to_string(target.vector_bytes) +
                    " bytes, which it uses where the variable is not set.");
  target.vector_bytes = std::min(target.vector_bytes, *bytes);
  return target;
}

}  // namespace

HostTarget host_target() {
  HostTarget target = machine();
  if (auto name = text_in("SAMITE_CPU_ARCHITECTURE")) {
    target.vector_bytes = std::min(target.vector_bytes, level_named(*name).vector_bytes);
    target.architecture = std::move(*name);
    target.fingerprint = architecture;  // the level says all
  }
  return with_settings(std::move(target));
}

HostTarget host_target_of_level(const std::string &level) {
  HostTarget target = machine();
  for (const Level &known : levels())
    if (known.name == level) target.vector_bytes = known.vector_bytes;
  target.architecture = level;
  target.fingerprint = architecture;
  return with_settings(std::move(target));
}

std::vector<std::string> host_levels() {
  const HostTarget here = host_target();
  std::vector<std::string> names;
  for (const Level &level : levels())
    if (level.supported && (here.architecture.empty() || here.architecture == level.name))
      names.insert(names.begin(), std::string(level.name));
  return names;
}

int host_optimization() {
  const int level = number_in("SAMITE_CPU_OPTIMIZATION").value_or(2);
  if (level < 0 || level > 3)
    throw UserError("SAMITE_CPU_OPTIMIZATION is \"" + std::string(std::getenv("SAMITE_CPU_OPTIMIZATION")) +
                    "\"; it can be 0, 1, 2 or 3. Unset it for 2.");
  return level;
}

}  // namespace samite
