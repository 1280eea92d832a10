// Intervals with symbolic bounds, and ranges with constant bounds, for integers and regions of arrays.
//
// `over` eliminates a symbol from a form: 2*%i + %n for %i in 0 .. 9 lies in [%n, 18 + %n]. Eliminating the indices of
// the loops around an access, innermost first, gives what one iteration of an outer loop needs; eliminating the thread
// indices gives what a block needs. Each occurrence of a symbol is bounded separately, so an interval may be wider than
// necessary, but it is never too narrow.
#pragma once

#include "samite/passes/affine.h"

#include <limits>

namespace samite::passes {

// Both bounds included. Where a bound is not known, it is unbounded. Empty where the upper one is below the lower one.
struct Interval {
  Affine lower = Affine::unknown(), upper = Affine::unknown();

  static Interval of(const Affine &number) { return {number, number}; }
  // The indices of `for i in begin .. end step s`; a step that is not known may be any.
  static Interval of_loop(const Affine &begin, const Affine &end, const Affine &step);

  bool is_constant() const { return lower.is_constant() && upper.is_constant(); }
  // How many numbers it has; unknown where a bound is.
  Affine extent() const { return upper - lower + 1; }

  friend bool operator==(const Interval &, const Interval &) = default;
};

Interval operator+(const Interval &a, const Interval &b);
Interval operator*(const Interval &a, std::int64_t by);
// The smallest that holds both.
Interval united(const Interval &a, const Interval &b);

// Where a form lies, or what lies in an interval, as the symbol goes through a range that is not empty.
Interval over(const Affine &form, const Symbol &symbol, const Interval &range);
Interval over(const Interval &interval, const Symbol &symbol, const Interval &range);

std::string to_string(const Interval &interval);

// Constant bounds, both included; the type's own least and greatest number stand for none.
struct Range {
  static constexpr std::int64_t none_below = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t none_above = std::numeric_limits<std::int64_t>::max();
  std::int64_t lower = none_below, upper = none_above;

  bool contains(const Range &other) const { return lower <= other.lower && other.upper <= upper; }
  friend bool operator==(const Range &, const Range &) = default;
};

Range operator+(const Range &a, const Range &b);
Range operator*(const Range &a, std::int64_t by);
Range united(const Range &a, const Range &b);

// Where a form lies, whatever its symbols are within theirs.
using RangeOfSymbol = std::function<Range(const Symbol &)>;
Range range_of(const Affine &form, const RangeOfSymbol &of);

// A part of an array, or of what a producer makes: an interval for each dimension.
using Region = std::vector<Interval>;

// Whether two regions of one array have no element in common, whatever the symbols are within their ranges.
bool disjoint(const Region &a, const Region &b, const RangeOfSymbol &of);

}  // namespace samite::passes
