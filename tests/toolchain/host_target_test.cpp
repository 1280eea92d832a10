#include "samite/toolchain/host_target.h"

#include "samite/base/error.h"
#include "tests/runtime/message_of.h"
#include "tests/toolchain/environment.h"
#include "tests/toolchain/pretended_processor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

namespace samite {
namespace {

using testing::HasSubstr;

TEST(HostTarget, IsTheSameOnEachCallAndThusOnEachCore) {
  const std::string first = host_target().fingerprint;
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(host_target().fingerprint, first);
}

TEST(HostTarget, HasTheWidestVectorThatTheSystemReports) {
  const test::EnvironmentVariable unset("SAMITE_CPU_VECTOR_BYTES", "");
  std::ifstream file("/proc/cpuinfo");
  std::string line, flags;
  while (flags.empty() && std::getline(file, line))
    if (line.starts_with("flags")) flags = line + " ";
  const auto has = [&](const std::string &name) { return flags.find(" " + name + " ") != std::string::npos; };
  const int expected = has("avx512f") && has("avx512vl") && has("avx512dq") && has("avx512bw") ? 64
                       : has("avx2") && has("fma")                                             ? 32
                                                                                               : 16;
  EXPECT_EQ(host_target().vector_bytes, expected);
}

TEST(HostTarget, VectorsCanBeMadeNarrower) {
  const test::EnvironmentVariable narrow("SAMITE_CPU_VECTOR_BYTES", "16");
  EXPECT_EQ(host_target().vector_bytes, 16);
}

TEST(HostTarget, AWidthBeyondTheMachinesIsTheMachinesOwn) {
  const test::EnvironmentVariable unset("SAMITE_CPU_VECTOR_BYTES", "");
  const int widest = host_target().vector_bytes;
  for (const int bytes : {16, 32, 64}) {
    const test::EnvironmentVariable bound("SAMITE_CPU_VECTOR_BYTES", std::to_string(bytes));
    EXPECT_EQ(host_target().vector_bytes, std::min(bytes, widest));
  }
}

TEST(HostTarget, AWidthThatIsNoneIsRefused) {
  for (const char *width : {"48", "0", "128", "wide"}) {
    const test::EnvironmentVariable wrong("SAMITE_CPU_VECTOR_BYTES", width);
    const std::string message = message_of<UserError>([] { host_target(); });
    EXPECT_THAT(message, HasSubstr("SAMITE_CPU_VECTOR_BYTES is \"" + std::string(width) + "\""));
    EXPECT_THAT(message, HasSubstr("it can be 16, 32 or 64"));
  }
}

TEST(HostTarget, ProcessorsOfTheSameInstructionsShareCode) {
  EXPECT_EQ(features_of(test::of_another_maker()), features_of(test::PretendedProcessor()));
}

TEST(HostTarget, AnyInstructionOfCompilersIsAnotherTarget) {
  const test::PretendedProcessor one;
  std::set<Hash128> all{features_of(one)};
  const auto is_new = [&](const auto &change) {
    test::PretendedProcessor other = one;
    change(other);
    return all.insert(features_of(other)).second;
  };
  EXPECT_TRUE(is_new([](test::PretendedProcessor &other) { other.extended.ebx ^= 1u << 16; }));  // AVX-512 F
  EXPECT_TRUE(is_new([](test::PretendedProcessor &other) { other.extended.ebx ^= 1u << 5; }));   // AVX2
  EXPECT_TRUE(is_new([](test::PretendedProcessor &other) { other.basic.ecx ^= 1u << 12; }));     // FMA
  EXPECT_TRUE(is_new([](test::PretendedProcessor &other) { other.extended.edx ^= 1u << 23; }));  // AVX-512 FP16
  EXPECT_TRUE(
      is_new([](test::PretendedProcessor &other) { other.saved = 0x7; }));  // registers of 64 bytes are not saved
}

#ifdef __x86_64__
// Code for a level is the same wherever it is compiled.
TEST(HostTarget, ALevelHasNothingOfThisMachineInItsKey) {
  EXPECT_EQ(host_target_of_level("x86-64-v2").fingerprint, "x86-64");
  const test::EnvironmentVariable level("SAMITE_CPU_ARCHITECTURE", "x86-64-v2");
  EXPECT_EQ(host_target().fingerprint, "x86-64");
}

TEST(HostTarget, ALevelOfTheArchitectureHasVectorsOfItsWidth) {
  const test::EnvironmentVariable unset("SAMITE_CPU_VECTOR_BYTES", "");
  const test::EnvironmentVariable level("SAMITE_CPU_ARCHITECTURE", "x86-64-v2");
  EXPECT_EQ(host_target().architecture, "x86-64-v2");
  EXPECT_EQ(host_target().vector_bytes, 16);
}
#endif

TEST(HostTarget, AnArchitectureThatIsNoneIsRefused) {
  const test::EnvironmentVariable wrong("SAMITE_CPU_ARCHITECTURE", "x86-64-v9");
  const std::string message = message_of<UserError>([] { host_target(); });
  EXPECT_THAT(message, HasSubstr("SAMITE_CPU_ARCHITECTURE is \"x86-64-v9\"; this machine can do "));
  EXPECT_THAT(message, HasSubstr("Unset it to compile for this machine"));
}

TEST(HostTarget, ContractionIsOnUnlessTheEnvironmentSaysNo) {
  const test::EnvironmentVariable unset("SAMITE_CPU_CONTRACTION", "");
  EXPECT_TRUE(host_target().contraction);
  const test::EnvironmentVariable none("SAMITE_CPU_CONTRACTION", "0");
  EXPECT_FALSE(host_target().contraction);
  const test::EnvironmentVariable wrong("SAMITE_CPU_CONTRACTION", "no");
  EXPECT_THAT(message_of<UserError>([] { host_target(); }),
              HasSubstr("SAMITE_CPU_CONTRACTION is \"no\"; it can be 0 or 1"));
}

TEST(HostTarget, TheLevelOfOptimisationIsTwoOrWhatTheEnvironmentSays) {
  const test::EnvironmentVariable unset("SAMITE_CPU_OPTIMIZATION", "");
  EXPECT_EQ(host_optimization(), 2);
  const test::EnvironmentVariable none("SAMITE_CPU_OPTIMIZATION", "0");
  EXPECT_EQ(host_optimization(), 0);
}

TEST(HostTarget, ALevelThatIsNoneIsRefused) {
  for (const char *level : {"4", "-1", "fast"}) {
    const test::EnvironmentVariable wrong("SAMITE_CPU_OPTIMIZATION", level);
    const std::string message = message_of<UserError>([] { host_optimization(); });
    EXPECT_THAT(message, HasSubstr("SAMITE_CPU_OPTIMIZATION is \"" + std::string(level) + "\""));
    EXPECT_THAT(message, HasSubstr("it can be 0, 1, 2 or 3"));
  }
}

}  // namespace
}  // namespace samite
