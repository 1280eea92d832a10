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

// Shares equal operations. On a GPU, inserts barriers and prefetches; on the CPU, partitions vector loops, if they
// are to be `partitioned`. Returns what became of each memory that was to be prefetched.
std::vector<LoadAhead> order_kernel(ir::Kernel &kernel, bool gpu, bool partitioned);

// Numbers the parameters of a finished kernel. Before, `kernel` numbers arrays and scalars as the pipeline's
// parameters, followed by its temporaries; locals that it does not define belong to the host. Afterwards its parameters
// are those that it uses; their arguments are returned.
std::vector<KernelArgument> finish_kernel(ir::Kernel &kernel, const std::vector<ir::Parameter> &parameters,
                                          const std::vector<TemporaryArray> &temporaries);

}  // namespace samite::schedules
