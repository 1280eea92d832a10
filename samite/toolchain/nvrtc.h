// NVRTC, which compiles CUDA C++: opened when first used.
//
// Samite does not link it. It is looked for as nvrtc_search.h says, and the first that fits is taken: of CUDA
// 12.4 or newer. One that does not fit is passed over, and named where none does. Once open it stays so.
//
// Thread-safe. A failure is not kept: the next call looks again.
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

// DeviceError where there is none that fits: says which were found, why each was passed over, and how to mend it.
const Nvrtc &nvrtc();

bool nvrtc_is_open();

// Names the build in a cache key. Does not open the library where its files are in known folders, so that a program
// whose kernels are all cached never maps it.
std::string nvrtc_identity();

// DeviceError where code of this NVRTC does not load into a driver of the version, as 12040 for CUDA 12.4: its major
// version must not be newer than the driver's.
void require_driver_for_nvrtc(int driver_version);

}  // namespace samite
