// The tensor maps of a launch: descriptions, for the copy engine, of the arrays that a kernel's bulk copies read.
#pragma once

#include "samite/driver/tensor_map.h"
#include "samite/runtime/any_buffer.h"
#include "samite/shipped/launch_form.h"

#include <cstddef>

namespace samite::shipped {

// Whether these elements, whose rows are aligned, can have a tensor map (samite/driver/tensor_map_rules.h) and i32
// indices.
bool can_have_tensor_map(const AnyBuffer &buffer);

// The map of an array whose entry in the block of arguments begins at `array`: its address, then its extents, then its
// strides in elements (codegen/argument_layout.h).
driver::TiledTensor tensor_of(const FormTensorMap &map, const std::byte *array);

}  // namespace samite::shipped
