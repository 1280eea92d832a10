// The kernel equivalent to a copy between buffers, for its derivatives.
#pragma once

#include "samite/jit/definition.h"
#include "samite/runtime/device.h"

namespace samite::jit {

// to(i…) = from(i…), for arrays of floating numbers that can have a gradient, of 1 to 4 dimensions. Made once for each
// device, type and rank. Thread-safe.
std::shared_ptr<KernelDefinition> copy_kernel(Device device, ScalarType type, int rank);

}  // namespace samite::jit
