// The last steps of a kernel of a scheduled pipeline: barriers, and the kernel's own parameters.
#pragma once

#include "samite/schedule/load_ahead.h"
#include "samite/schedule/program.h"

#include <string>
#include <vector>

namespace samite::schedules {

// An array of the pipeline's own, as a parameter of kernels.
struct TemporaryArray {
  std::string name;
  ScalarType type;
  int rank;
};

// Shares what is computed twice. On a GPU the threads of a block wait for each other where they have to; on the CPU
// vector loops are written in pieces. What became of what was to be loaded ahead.
std::vector<LoadAhead> order_kernel(ir::Kernel &kernel, bool gpu);

// In `kernel` arrays and scalars are numbered as the pipeline's parameters, then its temporaries; locals that it does
// not define are the host's. Afterwards its parameters are those that it uses, and each is given what is returned.
std::vector<KernelArgument> finish_kernel(ir::Kernel &kernel, const std::vector<ir::Parameter> &parameters,
                                          const std::vector<TemporaryArray> &temporaries);

}  // namespace samite::schedules
