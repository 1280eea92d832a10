// The text that every kernel of a target is compiled after: the device headers, joined.
//
// It is the same for all kernels of a machine, so that it is precompiled once.
#pragma once

#include <string>

namespace samite::codegen {

// `vector_bytes` is the width of the machine's registers: 16, 32 or 64. Vectors come in two lane counts, so that
// either 4-byte or 8-byte elements fill a register.
std::string cpu_prelude(int vector_bytes);

}  // namespace samite::codegen
