// The tensor maps of a launch: descriptions, for the copy engine, of the arrays that a kernel's bulk copies read.
#pragma once

#include "samite/driver/tensor_map_cache.h"
#include "samite/jit/variant.h"
#include "samite/shipped/launch_form.h"

#include <cstddef>
#include <vector>

namespace samite::jit {

// The tensor map in the format of a launch form.
shipped::FormTensorMap form_of(const passes::TensorMapNeeded &needed);

// In the order of the variant's tensor maps, for the arrays in `arguments`, a block with the variant's layout; reuses
// cached maps. Only bits: the launcher keeps the arrays alive, as it does for its arguments. DeviceError if the driver
// makes none.
std::vector<driver::TensorMapBits> launch_tensor_maps(const Variant &variant, const std::byte *arguments,
                                                      driver::TensorMapCache &cache, SourceLocation where);

}  // namespace samite::jit
