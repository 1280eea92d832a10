// The tensor maps of a launch: what the copy engine knows of the arrays that a kernel's bulk copies read.
#pragma once

#include "samite/driver/tensor_map_cache.h"
#include "samite/jit/variant.h"

#include <cstddef>
#include <vector>

namespace samite::jit {

// In the order of `variant.tensor_maps`, of the arrays as `arguments`, a block as the variant's layout says, has them;
// found in the cache where it has them. Bits alone: whoever launches keeps the arrays alive, as for its arguments.
// DeviceError where the driver makes none.
std::vector<driver::TensorMapBits> launch_tensor_maps(const Variant &variant, const std::byte *arguments,
                                                      driver::TensorMapCache &cache, SourceLocation where);

}  // namespace samite::jit
