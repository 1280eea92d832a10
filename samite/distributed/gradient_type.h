// The C++ types of arrays that can have a gradient.
#pragma once

#include "samite/base/error.h"
#include "samite/base/scalar_type.h"

namespace samite::distributed {

inline bool has_gradients(ScalarType type) { return is_floating(type) && !is_float8(type); }

// Calls work(T()) with the type's T.
template <class Work>
void with_gradient_type(ScalarType type, const Work &work) {
  switch (type) {
    case ScalarType::Float16: return work(half{});
    case ScalarType::BFloat16: return work(bfloat16{});
    case ScalarType::Float32: return work(float{});
    case ScalarType::Float64: return work(double{});
    default: throw InternalError("a type without gradients");
  }
}

}  // namespace samite::distributed
