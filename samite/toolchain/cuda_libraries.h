// NVRTC, which compiles CUDA C++, and nvJitLink, which links what it has compiled: opened when first used.
//
// Samite links neither. They are looked for as cuda_library_search.h says, and the first of each that fits is taken:
// of CUDA 12.4 or newer, and nvJitLink of NVRTC's major version and no older than it, since it must read what NVRTC
// wrote. One that does not fit is passed over, and named where none does. Once open they stay so.
//
// Thread-safe. A failure is not kept: the next call looks again.
#pragma once

#include "samite/toolchain/cuda_abi.h"

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

struct NvJitLink {
  NvJitLinkFunctions functions;
  CudaVersion version;
  std::string path;
};

// DeviceError where there is none that fits: says which were found, why each was passed over, and how to mend it.
const Nvrtc &nvrtc();
const NvJitLink &nvjitlink();

bool nvrtc_is_open();

// Names the builds in a cache key: of NVRTC, and of nvJitLink. Opens neither where their files are in known folders, so
// that a program whose kernels are all cached never maps them.
std::string nvrtc_identity();
std::string nvjitlink_identity();

// DeviceError where code of this NVRTC does not load into a driver of the version, as 12040 for CUDA 12.4: its major
// version must not be newer than the driver's.
void require_driver_for_nvrtc(int driver_version);

// What a user is told of a library: where it is, or the reason why there is none to use.
struct CudaLibraryReport {
  std::string name;  // "NVRTC"
  std::string path;
  CudaVersion version;
  std::string problem;  // empty where all is well
};

std::vector<CudaLibraryReport> cuda_library_reports();

}  // namespace samite
