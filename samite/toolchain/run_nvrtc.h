// Runs NVRTC: text to a cubin. cuda_compiler.h caches its results.
//
// Thread-safe; different texts compile concurrently.
#pragma once

#include "samite/base/hash.h"

#include <string>
#include <string_view>
#include <vector>

namespace samite {

struct CudaText {
  std::string_view name, text, prelude;
  std::string_view architecture;  // "sm_90a"
  bool debug_info = false;
};

// NVRTC's output, PTX if the architecture says so, and its log: warnings, including spills.
struct CudaProduct {
  std::string cubin, log;
};

// All options that affect the output, except for the architecture: for cache keys and messages.
std::vector<std::string> nvrtc_options(const CudaText &text);

// The key of the image in archives (toolchain/cuda_compiler.h): a hash of what it is made from, without the build of
// NVRTC.
Hash128 archived_cuda_key(const CudaText &text);

// InternalError with NVRTC's messages and the lines at fault if the text does not compile; DeviceError if NVRTC does
// not know the architecture, or fails.
CudaProduct run_nvrtc(const CudaText &text);

// UserError unless the text is an architecture name of NVRTC: "sm_80", "sm_90a", "sm_100f", "compute_80".
void require_architecture(std::string_view architecture);

// DeviceError unless the installed NVRTC supports it.
void require_nvrtc_knows(std::string_view architecture);

}  // namespace samite
