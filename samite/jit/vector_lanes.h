// How wide the CPU's vectors are, for schedules that depend on it: how many sums fit registers.
#pragma once

namespace samite {

// Numbers of 32 bits in a vector of kernels for the CPU of this machine: 16 with AVX-512, which has registers for 32
// vectors; 8 with AVX2, and else 4, with registers for 16. UserError as toolchain/host_target.h says.
int cpu_vector_lanes();

}  // namespace samite
