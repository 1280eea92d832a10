// How many instances run in step on a CPU.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::codegen {

// How many lanes a kernel's vectors have on a machine whose registers hold `vector_bytes`: one for each 8 bytes where
// more of its floating-point operations (loads included) are f64 than f32, else one for each 4 bytes.
int cpu_lanes(const ir::Kernel &kernel, int vector_bytes);

}  // namespace samite::codegen
