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

// In CUDA C++20 without any header of CUDA's, for NVRTC, which reads it again with each kernel: what tiles need comes
// with them alone, and what their operations' objects need with these.
std::string cuda_prelude(bool tiles);

// What comes before the text of an object: `EmittedObject::header`, and what that includes.
std::string cuda_object_prelude(std::string_view header);

// All of these, with another text in the place of samite/device/cuda/intrinsics.h, which is all of it that is not C++:
// for running emitted kernels and their objects where there is no GPU.
std::string cuda_prelude_with(std::string_view intrinsics);

}  // namespace samite::codegen
