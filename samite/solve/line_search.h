// A step along a line that satisfies the strong Wolfe conditions: Nocedal and Wright, Numerical Optimization (2006),
// algorithms 3.5 and 3.6, with cubic interpolation.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace samite::solvers::detail {

// The value of a function at a step along a line, and its derivative along it there.
struct LinePoint {
  double step, value, slope;
};

struct LineSearch {
  double decrease = 1e-4, curvature = 0.9;
  std::int64_t evaluations = 25;  // at most
};

// Starts at `start`, whose slope is negative, and tries the step `first` first. The last evaluation is at the returned
// point; empty if the limit of evaluations was reached.
std::optional<LinePoint> strong_wolfe_point(const LinePoint &start, double first, const LineSearch &search,
                                            const std::function<LinePoint(double step)> &evaluate);

}  // namespace samite::solvers::detail
