// Gradients of arrays on a tape, for adjoints that operations bring (jit/operation.h).
#pragma once

#include "samite/runtime/any_buffer.h"

namespace samite::ops::detail {

// The array's gradient, or new memory of zeros if it tracks none.
inline AnyBuffer gradient_or_zeros(const AnyBuffer &array) {
  return array.tracks_gradient() ? array.gradient() : AnyBuffer(array.device(), array.type(), array.extents());
}

}  // namespace samite::ops::detail
