// C++ text to code for a CUDA device: what `jit` asks of the CUDA toolchain. No device is needed.
//
// An image comes from the first of: this process, if one with the same content still exists; the disk cache; the
// compiler. Only the last opens NVRTC. The key is a hash of source, prelude, options, architecture and the builds of
// the libraries.
//
// A kernel alone goes from text to machine code in NVRTC, which spares the second library. A kernel with objects is
// compiled to LTO-IR like each of them, all at the same time, and nvJitLink makes one image, with the objects'
// functions inlined. An object is kept by its own content, so that it is compiled once for all kernels that link it.
//
// Thread-safe. Different texts compile at the same time, as far as NVRTC lets them: it reads one text after the other,
// and makes machine code of several at once. Threads that ask for one text get one compile.
#pragma once

#include "samite/toolchain/cuda_image.h"
#include "samite/toolchain/object_report.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace samite {

struct CudaSource {
  std::string name;  // of the kernel, for diagnostics and profilers
  // C++20 without headers; what is not marked `__global__` or `__host__` is for the device. A kernel is
  // `extern "C" __global__`, and so is found by its name.
  std::string text;
  bool debug_info = false;  // lines for profilers and the memory checker; the code is the same
  // What comes before the text in the place of what comes before all of them; empty: that.
  std::string prelude = {};
};

// Where the time went. What did not happen took 0.
struct CudaCompileReport {
  bool from_memory = false;  // the image existed already
  bool from_cache = false;   // the disk cache had it
  int compiled = 0;          // texts that NVRTC compiled, the kernel's and its objects'
  // Of objects that compile at the same time compile_ms is the time until the last is ready.
  double total_ms = 0, open_ms = 0, compile_ms = 0, link_ms = 0;
  std::size_t object_bytes = 0, image_bytes = 0;
  // The kernel's first, then those given; none of a kernel alone, or where the image was there already.
  std::vector<ObjectReport> objects;
};

struct CompiledCuda {
  std::shared_ptr<const CudaImage> image;
  CudaCompileReport report;
};

// `prelude` comes before each text. Throws InternalError with the compiler's words and the lines they blame where a
// text does not compile or link, DeviceError where a library is missing or does not know the architecture, UserError
// for what is no architecture ("sm_80", "sm_90a", …).
CompiledCuda compile_cuda(const CudaSource &kernel, std::string_view prelude, const std::string &architecture,
                          std::span<const CudaSource> objects = {});

int cuda_compile_count();  // runs of NVRTC by this process; what a cache answered is not one

}  // namespace samite
