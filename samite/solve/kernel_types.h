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
    case ScalarType::Float32: return function(float{});
    case ScalarType::Float64: return function(double{});
    default: throw UserError(where, what + " are of f32 or f64, " + std::string(samite::name(type)) + " is given");
  }
}

// The same for numbers of 32 and 64 bits.
template <class F>
decltype(auto) with_number_type(ScalarType type, const std::string &what, SourceLocation where, const F &function) {
  switch (type) {
    case ScalarType::Int32: return function(std::int32_t{});
    case ScalarType::UInt32: return function(std::uint32_t{});
    case ScalarType::Int64: return function(std::int64_t{});
    case ScalarType::UInt64: return function(std::uint64_t{});
    case ScalarType::Float32: return function(float{});
    case ScalarType::Float64: return function(double{});
    default:
      throw UserError(
          where, what + " are integers of 32 or 64 bits, f32 or f64; " + std::string(samite::name(type)) + " is given");
  }
}

// UserError unless the buffer is a vector, of `count` elements if that is not negative, on this device.
inline void expect_vector(const AnyBuffer &buffer, std::int64_t count, const Device &device, const std::string &what,
                          SourceLocation where) {
  if (buffer.valid() && buffer.rank() == 1 && (count < 0 || buffer.count() == count) && buffer.device() == device)
    return;
  throw UserError(where, what + (count < 0 ? " is a vector" : " is a vector of " + std::to_string(count)) + " on " +
                             device.to_string() + "; " +
                             (buffer.valid() ? buffer.to_string() : std::string("an empty buffer")) + " is given");
}

}  // namespace samite::solvers::detail
