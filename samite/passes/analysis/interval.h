// Intervals with symbolic bounds, and ranges with constant bounds, for integers and regions of arrays.
//
// `over` eliminates a symbol from a form: 2*%i + %n for %i in 0 .. 9 lies in [%n, 18 + %n]. Eliminating the indices of
// the loops around an access, innermost first, gives what one iteration of an outer loop needs; eliminating the thread
// indices gives what a block needs. Each occurrence of a symbol is bounded separately, so an interval may be wider than
// necessary, but it is never too narrow.
#pragma once

#include "samite/passes/analysis/affine.h"

#include <limits>

namespace samite::passes {

// Both bounds included. An unknown bound means unbounded. Empty if the upper one is below the lower one.
struct Interval {
  Affine lower = Affine::unknown(), upper = Affine::unknown();

  static Interval of(const Affine &number) { return {number, number}; }
  // The indices of `for i in begin .. end step s`; an unknown step may be any.
  static Interval of_loop(const Affine &begin, const Affine &end, const Affine &step);

  bool is_constant() const { return lower.is_constant() && upper.is_constant(); }
  // The number of integers in it; unknown if a bound is.
  Affine extent() const { return upper - lower + 1; }

  friend bool operator==(const Interval &, const Interval &) = default;
};

Interval operator+(const Interval &a, const Interval &b);
Interval operator*(const Interval &a, std::int64_t by);
// The smallest that contains both.
Interval united(const Interval &a, const Interval &b);

// The interval of a form, or of another interval, over a non-empty range of the symbol.
Interval over(const Affine &form, const Symbol &symbol, const Interval &range);
Interval over(const Interval &interval, const Symbol &symbol, const Interval &range);

std::string to_string(const Interval &interval);

// Constant bounds, both included; the type's least and greatest number mean unbounded.
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

// The range of a form, for all values of its symbols.
using RangeOfSymbol = std::function<Range(const Symbol &)>;
Range range_of(const Affine &form, const RangeOfSymbol &of);

// A region of an array, or of a producer's result: an interval for each dimension.
using Region = std::vector<Interval>;

// Whether two regions of one array are disjoint for all values of the symbols.
bool disjoint(const Region &a, const Region &b, const RangeOfSymbol &of);

}  // namespace samite::passes
