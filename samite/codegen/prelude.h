// The text that every kernel of a target is compiled after: the device headers, joined.
//
// It is the same for all kernels of a machine, so that it is precompiled once.
#pragma once

#include <string>
#include <string_view>

namespace samite::codegen {

// `vector_bytes` is the width of the machine's registers: 16, 32 or 64. Vectors come in two lane counts, so that
// either 4-byte or 8-byte elements fill a register.
std::string cpu_prelude(int vector_bytes);

// In CUDA C++17 without any header of CUDA's, for NVRTC, which reads it again with each kernel: what tiles need comes
// with them alone.
std::string cuda_prelude(bool tiles);

// The same with another text in the place of samite/device/cuda/intrinsics.h, which is all of it that is not C++: for
// running emitted kernels where there is no GPU.
std::string cuda_prelude_with(std::string_view intrinsics, bool tiles);

}  // namespace samite::codegen
