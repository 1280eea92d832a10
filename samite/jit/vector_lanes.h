// The width of the CPU's vectors, for schedules that depend on the number of registers.
#pragma once

namespace samite {

// 32-bit numbers in a vector of this machine's CPU kernels: 16 with AVX-512, which has 32 vector registers; 8 with
// AVX2, otherwise 4, both with 16 registers. UserError as in toolchain/host_target.h.
int cpu_vector_lanes();

}  // namespace samite
