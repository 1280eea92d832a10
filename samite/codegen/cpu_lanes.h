// The number of instances that run in step on a CPU.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/analysis/uniformity.h"

namespace samite::codegen {

// The lanes of a kernel's vectors on a machine whose registers hold `vector_bytes`: one for each 8 bytes if most of its
// floating-point operations (loads included) are f64, else one for each 4 bytes.
int cpu_lanes(const ir::Kernel &kernel, int vector_bytes);

// The same, but one for each 2 bytes or each byte if most of the work in thread loops is on such narrow numbers, so
// that these fill registers; wider ones take several. Loops of a constant number of iterations are whole vectors then,
// too.
int cpu_lanes(const ir::Kernel &lowered, const passes::Uniformity &uniformity, int vector_bytes);

}  // namespace samite::codegen
