// NVRTC, the compiler of CUDA C++: opened on first use.
//
// Samite does not link it. It is searched as described in nvrtc_search.h, and the first suitable one is used: of CUDA
// 12.4 or newer. If none is suitable, the error names those found. It stays open.
//
// Thread-safe. A failure is not kept: the next call searches again.
#pragma once

#include "samite/toolchain/nvrtc_abi.h"

#include <compare>
#include <string>
#include <vector>

namespace samite {

struct CudaVersion {
  int major = 0, minor = 0;

  std::string text() const;  // "12.4"
  friend auto operator<=>(const CudaVersion &, const CudaVersion &) = default;
};

inline constexpr CudaVersion oldest_cuda_toolchain{12, 4};

struct Nvrtc {
  NvrtcFunctions functions;
  CudaVersion version;
  std::string path;
  std::vector<int> architectures;  // that it compiles for: 90 for compute capability 9.0
};

// DeviceError if none is suitable: lists those found, the reason to skip each, and the fix.
const Nvrtc &nvrtc();

bool nvrtc_is_open();

// Identifies the build in a cache key. Does not open the library if its files are in known folders, so that a program
// with only cached kernels never maps it.
std::string nvrtc_identity();

// DeviceError if code of this NVRTC does not load into a driver of the version, e.g. 12040 for CUDA 12.4: its major
// version must not be newer than the driver's.
void require_driver_for_nvrtc(int driver_version);

}  // namespace samite
