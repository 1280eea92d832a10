// The prelude: the device headers, joined, after which a kernel's text is compiled. On the CPU there are two for all
// kernels of a machine, with and without what operations on whole tiles call, each precompiled once: what those call
// takes as long to precompile as all else. CUDA's compiler parses it again with each kernel, so it gets only what
// the kernel needs.
#pragma once

#include "samite/codegen/declarations.h"

#include <string>
#include <string_view>

namespace samite::codegen {

// `vector_bytes` is the width of the machine's registers: 16, 32 or 64. Vectors come in two lane counts, so that
// either 4-byte or 8-byte elements fill a register.
std::string cpu_prelude(int vector_bytes, bool with_tiles = true);

// Whether the text of a kernel or an object for the CPU calls what is in the headers for tiles. Thread-safe.
bool needs_tiles_of_cpu(std::string_view text);

// The part that the text of a kernel or an object needs, in CUDA C++20 without any header of CUDA, for NVRTC.
// Thread-safe.
std::string cuda_prelude(std::string_view text);

// All declarations that `cuda_prelude` chooses from.
const Declarations &cuda_declarations();

// The whole CUDA prelude with another text in place of the headers that are not C++: samite/device/cuda/intrinsics.h
// and sm90_*.h beside it. So emitted kernels and their objects can run where there is no GPU. Without a text: all of
// it.
std::string cuda_prelude_with(std::string_view intrinsics);

}  // namespace samite::codegen
