#include "samite/base/floating_range.h"

#include "samite/base/error.h"

#include <cmath>
#include <limits>

namespace samite {

namespace {

// The range of a type with this many bits of precision. The largest number has the exponent `highest`, the smallest
// normal one `lowest`. The largest number is `missing` units in the last place below the largest that the precision
// allows.
FloatingRange range_of(int precision, int highest, int lowest, int missing = 0) {
  const double unit = std::ldexp(1.0, highest + 1 - precision),
               largest = std::ldexp(2.0, highest) - (1 + missing) * unit;
  return {largest, largest + unit / 2, std::ldexp(1.0, lowest + 1 - precision)};
}

}  // namespace

FloatingRange floating_range(ScalarType type) {
  switch (type) {
    case ScalarType::Float8E4M3: return range_of(4, 8, -6, 1);  // its last bits are a NaN's
    case ScalarType::Float8E5M2: return range_of(3, 15, -14);
    case ScalarType::Float16: return range_of(11, 15, -14);
    case ScalarType::BFloat16: return range_of(8, 127, -126);
    case ScalarType::Float32: return range_of(24, 127, -126);
    case ScalarType::Float64:
      using Limits = std::numeric_limits<double>;
      return {Limits::max(), Limits::infinity(), Limits::denorm_min()};
    default: throw InternalError("the floating range of an integer");
  }
}

bool is_too_large(ScalarType type, double value) {
  const double size = std::abs(value);
  if (std::isinf(value)) return type == ScalarType::Float8E4M3;
  return size >= floating_range(type).infinite;
}

}  // namespace samite
