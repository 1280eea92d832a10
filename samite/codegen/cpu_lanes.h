// The number of instances that run in step on a CPU.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::codegen {

// The lanes of a kernel's vectors on a machine whose registers hold `vector_bytes`: one for each 8 bytes if most of its
// floating-point operations (loads included) are f64, else one for each 4 bytes.
int cpu_lanes(const ir::Kernel &kernel, int vector_bytes);

}  // namespace samite::codegen
