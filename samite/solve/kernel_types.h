// The element types of the module's kernels, and buffers as arguments of launches.
#pragma once

#include "samite/base/error.h"
#include "samite/runtime/buffer.h"

#include <string>

namespace samite::solvers::detail {

// Calls `function` with a zero of the buffer's element type, float or double. UserError for any other.
template <class F>
decltype(auto) with_floating_type(ScalarType type, const std::string &what, SourceLocation where, const F &function) {
  switch (type) {
    case ScalarType::Float32: return function(float());
    case ScalarType::Float64: return function(double());
    default: throw UserError(where, what + " are of f32 or f64, " + std::string(samite::name(type)) + " is given");
  }
}

}  // namespace samite::solvers::detail
