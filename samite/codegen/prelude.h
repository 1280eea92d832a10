// The text that kernels are compiled after: the device headers, joined. On the CPU it is the same for all kernels of a
// machine, and precompiled once; CUDA's compiler reads it again with each kernel, and gets what that needs.
#pragma once

#include "samite/codegen/declarations.h"

#include <string>
#include <string_view>

namespace samite::codegen {

// `vector_bytes` is the width of the machine's registers: 16, 32 or 64. Vectors come in two lane counts, so that
// either 4-byte or 8-byte elements fill a register.
std::string cpu_prelude(int vector_bytes);

// What a kernel's text or an object's needs, in CUDA C++20 without any header of CUDA's, for NVRTC. Thread-safe.
std::string cuda_prelude(std::string_view text);

// What that chooses from.
const Declarations &cuda_declarations();

// All of it, with another text in the place of samite/device/cuda/intrinsics.h, which is all of it that is not C++:
// for running emitted kernels and their objects where there is no GPU.
std::string cuda_prelude_with(std::string_view intrinsics);

}  // namespace samite::codegen
