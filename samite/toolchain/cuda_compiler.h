// Compiles C++ text for a CUDA device: the interface for `jit`. No device is needed.
//
// An image comes from the first of: this process, if one with the same content still exists; the open archives
// (toolchain/archives.h); the disk cache; the compiler. Only the last opens NVRTC. The key is a hash of source,
// prelude, options, architecture and the build of NVRTC.
//
// Thread-safe. Different texts compile concurrently as far as NVRTC allows: it parses one text after the other, and
// generates machine code of several concurrently. Threads that request the same text cause one compile.
#pragma once

#include "samite/toolchain/cuda_image.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace samite {

struct CudaSource {
  std::string name;  // of the kernel, for diagnostics and profilers
  // C++20 without headers; functions without `__global__` or `__host__` are for the device. A kernel is `extern "C"
  // __global__`, and is found by its name.
  std::string text;
  bool debug_info = false;  // line information for profilers and the memory checker; the code is the same
  // For archives: the form of the kernel, and the facts that the text relies on.
  std::string variant = {}, facts = {};
};

// The times of the steps; 0 for skipped ones.
struct CudaCompileReport {
  bool from_memory = false;   // the image existed already
  bool from_archive = false;  // an open archive had it
  bool from_cache = false;    // the disk cache had it
  double total_ms = 0, open_ms = 0, compile_ms = 0;
  std::size_t image_bytes = 0;
};

struct CompiledCuda {
  std::shared_ptr<const CudaImage> image;
  CudaCompileReport report;
};

// `prelude` precedes the text. Throws InternalError with the compiler's messages and the lines at fault if the text
// does not compile, DeviceError if NVRTC is missing or does not know the architecture, UserError for an invalid
// architecture name (toolchain/cuda_target.h).
CompiledCuda compile_cuda(const CudaSource &kernel, std::string_view prelude, const std::string &architecture);

// Only from the open archives; empty if they do not have it. UserError if the image is damaged.
std::optional<CompiledCuda> find_cuda(const CudaSource &kernel, std::string_view prelude,
                                      const std::string &architecture);

int cuda_compile_count();  // runs of NVRTC by this process, without cache hits

}  // namespace samite
