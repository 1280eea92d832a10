// C++ text to code for a CUDA device: what `jit` asks of the CUDA toolchain. No device is needed.
//
// An image comes from the first of: this process, if one with the same content still exists; the open archives
// (toolchain/archives.h); the disk cache; the compiler. Only the last opens NVRTC. The key is a hash of source,
// prelude, options, architecture and the build of NVRTC.
//
// Thread-safe. Different texts compile at the same time, as far as NVRTC lets them: it reads one text after the other,
// and makes machine code of several at once. Threads that ask for one text get one compile.
#pragma once

#include "samite/toolchain/cuda_image.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace samite {

struct CudaSource {
  std::string name;  // of the kernel, for diagnostics and profilers
  // C++20 without headers; what is not marked `__global__` or `__host__` is for the device. A kernel is
  // `extern "C" __global__`, and so is found by its name.
  std::string text;
  bool debug_info = false;   // lines for profilers and the memory checker; the code is the same
  std::string variant = {};  // for archives: which form of the kernel it is
};

// Where the time went. What did not happen took 0.
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

// `prelude` comes before the text. Throws InternalError with the compiler's words and the lines they blame where the
// text does not compile, DeviceError where NVRTC is missing or does not know the architecture, UserError for what is no
// architecture ("sm_80", "sm_90a", …).
CompiledCuda compile_cuda(const CudaSource &kernel, std::string_view prelude, const std::string &architecture);

int cuda_compile_count();  // runs of NVRTC by this process; what a cache answered is not one

}  // namespace samite
