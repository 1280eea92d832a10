// The range of a floating type, and whether a number is outside of it.
#pragma once

#include "samite/base/scalar_type.h"

namespace samite {

struct FloatingRange {
  double largest;   // finite
  double infinite;  // numbers of at least this size round to infinity, if the type has one
  double least;     // the least above zero, including subnormal numbers
};

// The range of a floating type.
FloatingRange floating_range(ScalarType type);

// Whether a number is finite but too large for the type, or is an infinity that the type lacks. No finite number is too
// large for the 8-bit types: conversions make it their largest number.
bool is_too_large(ScalarType type, double value);

}  // namespace samite
