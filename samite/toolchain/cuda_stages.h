// The steps that make a CUDA image, each run when called: text to LTO-IR or to a cubin with NVRTC, LTO-IR to a cubin
// with nvJitLink. What is kept and what is not made twice is the compiler's business (cuda_compiler.h).
//
// Thread-safe; different texts compile at the same time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace samite {

enum class CudaOutput { lto_ir, cubin };

// One text for NVRTC.
struct CudaText {
  std::string_view name, text, prelude;
  std::string_view architecture;  // "sm_90a"
  bool debug_info = false;
};

// What a step made, and what the compiler said of it: warnings, and of spilled registers.
struct CudaProduct {
  std::string bytes, log;
};

// Every option that has a part in what is made, but for the architecture: for cache keys and messages.
std::vector<std::string> nvrtc_options(const CudaText &text, CudaOutput output);

// InternalError with NVRTC's words and the lines they blame where the text does not compile; DeviceError where NVRTC
// does not know the architecture, or cannot work.
CudaProduct run_nvrtc(const CudaText &text, CudaOutput output);

// InternalError with nvJitLink's words where the objects do not link; the first is the kernel, whose name is given.
CudaProduct run_nvjitlink(std::string_view name, std::string_view architecture,
                          const std::vector<std::string_view> &objects, bool debug_info);

// UserError unless the text is an architecture as NVRTC spells it: "sm_80", "sm_90a", "sm_100f".
void require_architecture(std::string_view architecture);

// DeviceError unless the NVRTC that is found here compiles for it.
void require_nvrtc_knows(std::string_view architecture);

}  // namespace samite
