// The numbers that a floating type has, and which ones are beyond them.
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

// Whether a number is finite and rounds to none of the type's finite numbers, or is an infinity that the type lacks.
// The 8-bit types, of which what is too large becomes the largest number, have none of the numbers that would round to
// infinity.
bool is_too_large(ScalarType type, double value);

}  // namespace samite
