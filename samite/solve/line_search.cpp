#include "samite/solve/line_search.h"

#include <algorithm>
#include <cmath>

namespace samite::solvers::detail {
namespace {

// The minimum of the cubic through two points with their slopes, kept away from both ends; the middle, if a value is
// not finite.
double between(const LinePoint &a, const LinePoint &b) {
  const double low = std::min(a.step, b.step), high = std::max(a.step, b.step), margin = 0.1 * (high - low);
  const double middle = low + (high - low) / 2;
  const double d1 = a.slope + b.slope - 3 * (a.value - b.value) / (a.step - b.step);
  const double d2 = std::copysign(std::sqrt(d1 * d1 - a.slope * b.slope), b.step - a.step);
  const double step = b.step - (b.step - a.step) * (b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2);
  return std::isfinite(step) ? std::clamp(step, low + margin, high - margin) : middle;
}

class Search {
 public:
  Search(const LinePoint &start, const LineSearch &search, const std::function<LinePoint(double)> &evaluate)
      : start_(start), search_(search), evaluate_(evaluate) {}

  std::optional<LinePoint> run(double first) {
    LinePoint before = start_;
    for (double step = first; evaluations_ < search_.evaluations;) {
      const LinePoint now = at(step);
      if (is_too_high(now) || (evaluations_ > 1 && !(now.value < before.value))) return zoom(before, now);
      if (is_flat(now)) return now;
      if (now.slope >= 0) return zoom(now, before);
      before = now;
      step *= 2;
    }
    return std::nullopt;
  }

 private:
  LinePoint at(double step) {
    ++evaluations_;
    return evaluate_(step);
  }
  bool is_too_high(const LinePoint &point) const {
    return !(point.value <= start_.value + search_.decrease * point.step * start_.slope) || !std::isfinite(point.slope);
  }
  bool is_flat(const LinePoint &point) const { return std::abs(point.slope) <= -search_.curvature * start_.slope; }

  // `low` satisfies the first condition and has the least value so far; its slope points towards `high`.
  std::optional<LinePoint> zoom(LinePoint low, LinePoint high) {
    while (evaluations_ < search_.evaluations) {
      const LinePoint now = at(between(low, high));
      if (is_too_high(now) || !(now.value < low.value)) {
        high = now;
        continue;
      }
      if (is_flat(now)) return now;
      if (now.slope * (high.step - low.step) >= 0) high = low;
      low = now;
    }
    return std::nullopt;
  }

  const LinePoint &start_;
  const LineSearch &search_;
  const std::function<LinePoint(double)> &evaluate_;
  std::int64_t evaluations_ = 0;
};

}  // namespace

std::optional<LinePoint> strong_wolfe_point(const LinePoint &start, double first, const LineSearch &search,
                                            const std::function<LinePoint(double)> &evaluate) {
  return Search(start, search, evaluate).run(first);
}

}  // namespace samite::solvers::detail
