// Bounds of an integer that is the cast of a floating number, if the number depends on several integers, or on one of
// them in several places: interval arithmetic, as operations that the program runs.
#pragma once

#include "samite/schedule/forms.h"

#include <functional>
#include <optional>
#include <vector>

namespace samite::schedules {

struct FloatingBounds {
  std::vector<passes::Affine> ends;  // the least and the greatest value of each integer, in turn
  // Functions of these. A bound is exact except for rounding: one within an operation's rounding error of an integer
  // may be off by one, away from the other bound. A NaN, whose cast differs between targets, has no bounds.
  IntegerFunction lower, upper;
};

// `interval_of` gives the interval of an integer. Empty if the bounds are not known, as for a number that is loaded,
// unless clamps limit it.
std::optional<FloatingBounds> floating_bounds(const Forms &forms, const ir::Value &cast,
                                              const std::function<passes::Interval(const ir::Value &)> &interval_of);

}  // namespace samite::schedules
