// The prelude: the joined device headers, which precede a kernel's text. The CPU has two for all kernels of a machine,
// with and without the functions for whole tiles, each precompiled once: the tiles' functions take as long to
// precompile as the rest. CUDA's compiler parses the prelude again with each kernel, so it gets only the declarations
// that the kernel needs.
#pragma once

#include "samite/base/hash.h"
#include "samite/codegen/declarations.h"
#include "samite/ir/kernel.h"

#include <string>
#include <string_view>

namespace samite::codegen {

// `vector_bytes` is the width of the machine's registers: 16, 32 or 64. Vectors come in two lane counts, so that either
// 4-byte or 8-byte elements fill a register. If elements of one or two bytes fill a register with yet another number of
// lanes, `lanes` is that number, and vectors come only in it.
std::string cpu_prelude(int vector_bytes, bool with_tiles = true, int lanes = 0);

// Whether the CPU's text of a kernel, in the form that is emitted, or one of its objects calls functions of the headers
// for tiles.
bool calls_tiles(const ir::Kernel &planned);

// Equal for equal texts. Making the text takes longer than reading a cached image, so a program whose kernels are all
// cached makes only the key.
Hash128 cpu_prelude_key(int vector_bytes, bool with_tiles = true, int lanes = 0);

// The part of the prelude that the text of a kernel or an object needs, in CUDA C++20 without CUDA headers, for NVRTC.
// Thread-safe.
std::string cuda_prelude(std::string_view text);

// All declarations that `cuda_prelude` chooses from.
const Declarations &cuda_declarations();

// The whole CUDA prelude with another text in place of the headers that are not C++: samite/device/cuda/intrinsics.h
// and sm90_*.h next to it. So emitted kernels and their objects can run without a GPU. An empty text keeps these
// headers.
std::string cuda_prelude_with(std::string_view intrinsics);

}  // namespace samite::codegen
