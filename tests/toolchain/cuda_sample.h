// A prelude and kernels for CUDA, small but of the kind that Samite emits; and a fixture for the tests that compile.
#pragma once

#include "samite/base/error.h"
#include "samite/toolchain/cuda_compiler.h"
#include "samite/toolchain/nvrtc.h"
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

// Too many values at once for the registers of 1024 threads, a shared array, one indexed at run time.
inline CudaSource cuda_demanding() {
  return {.name = "demanding", .text = R"(
__constant__ float table[50];
__noinline__ float recursive(float x, int n) { return n <= 0 ? x : recursive(x * x + table[n], n - 1) + n; }
extern "C" __global__ void __launch_bounds__(1024, 1) demanding(float *x, int n) {
  __shared__ float s[100];
  float a[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) a[i] = x[i * 1024 + threadIdx.x];
  s[threadIdx.x % 100] = a[n % 64];
  __syncthreads();
  const float t = s[(threadIdx.x + 1) % 100];
#pragma unroll
  for (int j = 0; j < 8; ++j)
#pragma unroll
    for (int i = 0; i < 64; ++i) a[i] = a[i] * a[(i * 7 + j) % 64] + t;
#pragma unroll
  for (int i = 0; i < 64; ++i) x[i * 1024 + threadIdx.x] = a[i] + table[i % 50];
}
struct Block { float v[40]; };
extern "C" __global__ void calling(float *x, Block b, int n) { x[threadIdx.x] = b.v[n] + recursive(b.v[0], n); }
extern "C" __global__ void modest(double *x) { x[threadIdx.x] += 1e300; }
)"};
}

// The architectures, among those that Samite is tested for, that this NVRTC knows: the newest need CUDA 12.8.
inline std::vector<std::string> cuda_architectures() {
  std::vector<std::string> known;
  for (const auto &[name, number] : {std::pair{"sm_80", 80}, {"sm_90a", 90}, {"sm_100a", 100}, {"sm_120", 120}})
    if (std::ranges::count(nvrtc().architectures, number) > 0) known.emplace_back(name);
  return known;
}

// With a cache of its own. Skipped without NVRTC.
class CudaCompilerTest : public testing::Test {
 protected:
  void SetUp() override {
    try {
      nvrtc();
    } catch (const DeviceError &) {
      GTEST_SKIP() << "NVRTC is not installed: scripts/install-cuda-toolchain build/cuda-toolchain";
    }
  }

  TemporaryFolder folder_;
  EnvironmentVariable cache_{"SAMITE_CACHE_DIR", folder_.path() / "cache"};
};

}  // namespace samite::test
