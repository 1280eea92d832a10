// NVRTC, run when called: text to a cubin. What is kept and what is not made twice is the compiler's business
// (cuda_compiler.h).
//
// Thread-safe; different texts compile at the same time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace samite {

struct CudaText {
  std::string_view name, text, prelude;
  std::string_view architecture;  // "sm_90a"
  bool debug_info = false;
};

// What NVRTC made, and what it said of it: warnings, and of spilled registers.
struct CudaProduct {
  std::string cubin, log;
};

// Every option that has a part in what is made, but for the architecture: for cache keys and messages.
std::vector<std::string> nvrtc_options(const CudaText &text);

// InternalError with NVRTC's words and the lines they blame where the text does not compile; DeviceError where NVRTC
// does not know the architecture, or cannot work.
CudaProduct run_nvrtc(const CudaText &text);

// UserError unless the text is an architecture as NVRTC spells it: "sm_80", "sm_90a", "sm_100f".
void require_architecture(std::string_view architecture);

// DeviceError unless the NVRTC that is found here compiles for it.
void require_nvrtc_knows(std::string_view architecture);

}  // namespace samite
