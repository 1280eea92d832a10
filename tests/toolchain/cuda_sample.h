// A prelude and kernels for CUDA, small but of the kind that Samite emits; and a fixture for the tests that compile.
#pragma once

#include "samite/base/error.h"
#include "samite/toolchain/cuda_compiler.h"
#include "samite/toolchain/cuda_libraries.h"
#include "tests/base/temporary_folder.h"
#include "tests/toolchain/environment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace samite::test {

inline constexpr const char *cuda_prelude = R"(
#pragma once
using i64 = long long;
inline i64 instance() { return (i64)blockIdx.x * blockDim.x + threadIdx.x; }
)";

// Adds `amount` to each of the first `count` floats.
inline CudaSource cuda_adding(const std::string &amount) {
  return {.name = "add",
          .text = R"(
extern "C" __global__ void __launch_bounds__(256) add(float *values, i64 count) {
  const i64 i = instance();
  if (i < count) values[i] += )" +
                  amount +
                  R"(f;
}
)"};
}

// Calls `halve`, which is in an object of its own.
inline CudaSource cuda_caller() {
  return {.name = "caller", .text = R"(
extern "C" __device__ float halve(float);
extern "C" __global__ void caller(float *values) { values[instance()] = halve(values[instance()]); }
)"};
}
inline CudaSource cuda_halve() {
  return {.name = "halve", .text = "extern \"C\" __device__ float halve(float x) { return x * 0.5f; }\n"};
}

// Of the architectures that Samite is tested for, those that the NVRTC here knows: the newest need CUDA 12.8.
inline std::vector<std::string> cuda_architectures() {
  std::vector<std::string> known;
  for (const auto &[name, number] : {std::pair{"sm_80", 80}, {"sm_90a", 90}, {"sm_100a", 100}, {"sm_120", 120}})
    if (std::ranges::count(nvrtc().architectures, number) > 0) known.emplace_back(name);
  return known;
}

// With a cache of its own. Skipped where there is no NVRTC.
class CudaCompilerTest : public testing::Test {
 protected:
  void SetUp() override {
    try {
      nvjitlink();
    } catch (const DeviceError &) {
      GTEST_SKIP() << "NVRTC and nvJitLink are not installed: scripts/install-cuda-toolchain build/cuda-toolchain";
    }
  }

  TemporaryFolder folder_;
  EnvironmentVariable cache_{"SAMITE_CACHE_DIR", folder_.path() / "cache"};
};

}  // namespace samite::test
