#include "samite/jit/vector_lanes.h"

#include "samite/toolchain/host_target.h"

namespace samite {

int cpu_vector_lanes() { return host_target().vector_bytes / 4; }

}  // namespace samite
