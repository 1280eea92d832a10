// The range of a floating type, and whether a number lies outside of it.
#pragma once

#include "samite/base/scalar_type.h"

namespace samite {

struct FloatingRange {
  double largest;   // finite
  double infinite;  // what is as large as this, or larger, rounds to infinity, where the type has one
  double least;     // above zero: of the numbers that are not normal, too
};

// The range of a floating type.
FloatingRange floating_range(ScalarType type);

// Whether a number is finite but too large for the type, or is an infinity that the type lacks. No finite number is too
// large for the 8-bit types: conversions make it their largest number.
bool is_too_large(ScalarType type, double value);

}  // namespace samite
