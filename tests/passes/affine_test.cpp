// Forms and intervals: their text, and that they are right for all values of their symbols.

#include "samite/passes/analysis/affine.h"
#include "samite/passes/analysis/interval.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

namespace samite::passes {
namespace {

const Affine x = Symbol::local(1), y = Symbol::local(2), n = Symbol::extent(0, 1);

TEST(Affine, ReadsAsItIsWritten) {
  EXPECT_EQ(to_string(Affine(0)), "0");
  EXPECT_EQ(to_string(x * 2 + quotient(y, 4) - 1), "2*%1 + (%2 / 4) - 1");
  EXPECT_EQ(to_string(n - x - 3), "-%1 + extent(@0, 1) - 3");
  EXPECT_EQ(to_string(remainder(x + y, 8)), "((%1 + %2) % 8)");
  EXPECT_EQ(to_string(greatest(x - 1, 0)), "max(0, %1 - 1)");
  EXPECT_EQ(to_string(Affine::unknown()), "unknown");
}

TEST(Affine, SumsAreCanonical) {
  EXPECT_EQ(x + y - x, y);
  EXPECT_EQ((x + 3) * 2 - x, y + x + 6 - y);
  EXPECT_EQ(hash(x + y), hash(y + x));
  EXPECT_NE(x + y, x + n);
}

TEST(Affine, MultiplesAreTakenOutOfQuotientsAndRemainders) {
  EXPECT_EQ(quotient(x * 8 + y, 4), x * 2 + quotient(y, 4));
  EXPECT_EQ(quotient(x - 5, 4), quotient(x + 3, 4) - 2);
  EXPECT_EQ(quotient(x * 6 + 5, 9), quotient(x * 2 + 1, 3));
  EXPECT_EQ(remainder(x * 8 + y + 4, 4), remainder(y, 4));
  EXPECT_EQ(remainder(x * 4 + 7, 8), remainder(x + 1, 2) * 4 + 3);
  EXPECT_EQ(quotient(quotient(x, 4), 8), quotient(x, 32));
  EXPECT_EQ(quotient(quotient(x, 4) + 3, 8), quotient(x + 12, 32));
  EXPECT_EQ(remainder(remainder(x, 32), 8), remainder(x, 8));
  EXPECT_EQ(quotient(remainder(x, 32), 8), remainder(quotient(x, 8), 4));
  EXPECT_EQ(quotient(remainder(x, 8), 8), Affine(0));
}

TEST(Affine, AQuotientAndItsRemainderAreTheNumber) {
  EXPECT_EQ(quotient(x, 4) * 4 + remainder(x, 4), x);
  EXPECT_EQ(quotient(x + y * 5, 4) * 12 + remainder(x + y * 5, 4) * 3 + 1, x * 3 + y * 15 + 1);
  EXPECT_EQ(quotient(x, 32) * 8 + remainder(quotient(x, 4), 8), quotient(x, 4));
}

TEST(Affine, TheLeastOfTwoThatAConstantPartsIsKnown) {
  EXPECT_EQ(least(x, x + 3), x);
  EXPECT_EQ(greatest(x, x + 3), x + 3);
  EXPECT_EQ(least(x, y), least(y, x));
  EXPECT_EQ(least(least(x, y), x + 1), least(x, y));
  EXPECT_EQ(least(least(x, y), x - 1), least(x - 1, y));
  EXPECT_EQ(greatest(x + n, y + n), greatest(x, y) + n);
  EXPECT_EQ(least(x + 5, y), least(x, y - 5) + 5);
}

TEST(Affine, ACoefficientIsThatOfASymbolOutsideOfAllElse) {
  EXPECT_EQ((x * 3 + y).coefficient(Symbol::local(1)), 3);
  EXPECT_EQ((x * 3 + y).coefficient(Symbol::local(7)), 0);
  EXPECT_EQ((x * 3 + quotient(x, 2)).coefficient(Symbol::local(1)), std::nullopt);
  EXPECT_TRUE((x + 3).is_symbol_and_constant(Symbol::local(1)));
  EXPECT_FALSE((x + y).is_symbol_and_constant(Symbol::local(1)));
  EXPECT_FALSE((x * 2).is_symbol_and_constant(Symbol::local(1)));
}

TEST(Affine, IsUnknownWhereItWouldBeTooLarge) {
  const std::int64_t large = std::int64_t{1} << 60;
  EXPECT_TRUE((x * large).known());
  EXPECT_FALSE((x * large * 4).known());
  EXPECT_FALSE((x * large + x * large + x * large).known());
  EXPECT_FALSE((Affine(large) + large + large).known());
  Affine sum = 0;
  for (std::uint32_t i = 0; i < Affine::most_nodes; ++i) sum = sum + Symbol::local(i);
  EXPECT_TRUE(sum.known());
  EXPECT_FALSE((sum + n).known());
  EXPECT_FALSE((Affine::unknown() - Affine::unknown()).known());
  EXPECT_FALSE(least(x, Affine::unknown()).known());
}

TEST(Interval, WhatALoopNeedsOfAProducer) {
  const Symbol i = Symbol::local(1);
  const Interval loop = Interval::of_loop(0, n, 1);
  EXPECT_EQ(over(x * 2 + y, i, loop), (Interval{y, n * 2 + y - 2}));
  EXPECT_EQ(over(y - x, i, loop), (Interval{y - n + 1, y}));
  EXPECT_EQ(over(quotient(x, 4), i, loop), (Interval{0, quotient(n - 1, 4)}));
  EXPECT_EQ(to_string(over(least(x, y), i, loop)), "[min(0, %2), min(%2, extent(@0, 1) - 1)]");
  // A window of a loop by blocks: its place drops out of the extent.
  const Interval block = over(x + y * 64, i, Interval::of_loop(0, 64, 1));
  EXPECT_EQ(block.extent(), Affine(64));
  EXPECT_EQ(over(block, Symbol::local(2), Interval::of_loop(0, 8, 2)), (Interval{0, 447}));
}

TEST(Interval, OfALoopThatCountsDown) {
  EXPECT_EQ(Interval::of_loop(9, 0, -2), (Interval{1, 9}));
  EXPECT_EQ(Interval::of_loop(x, y, -1), (Interval{y + 1, x}));
  EXPECT_EQ(Interval::of_loop(0, 10, 4), (Interval{0, 8}));
  EXPECT_EQ(Interval::of_loop(0, n, y), Interval{});
}

TEST(Interval, ARemainderWithinOnePeriodIsExact) {
  const Symbol i = Symbol::local(1);
  EXPECT_EQ(over(remainder(x, 32), i, {32, 39}), (Interval{0, 7}));
  EXPECT_EQ(over(remainder(x, 32), i, {30, 33}), (Interval{0, 31}));
  EXPECT_EQ(over(remainder(x + y * 32, 32), i, {3, 5}), (Interval{3, 5}));
}

TEST(Interval, UnionsHaveTheLeastAndTheGreatestBounds) {
  EXPECT_EQ(united({x, x + 3}, {x + 1, x + 5}), (Interval{x, x + 5}));
  EXPECT_EQ(united({0, 3}, {x, x}), (Interval{least(0, x), greatest(3, x)}));
  EXPECT_TRUE(united(Interval{0, 3}, Interval{7, 8}).is_constant());
  EXPECT_FALSE(united({0, 3}, {Affine::unknown(), 8}).lower.known());
}

TEST(Interval, AnUnboundedOperandLeavesOneBoundOfALeast) {
  const Interval known = over(least(x, y), Symbol::local(1), Interval{});
  EXPECT_FALSE(known.lower.known());
  EXPECT_EQ(known.upper, y);
}

TEST(Interval, RegionsAreDisjointWhereOneEndsBeforeTheOtherBegins) {
  const auto positive = [](const Symbol &) { return Range{0, Range::none_above}; };
  const auto any = [](const Symbol &) { return Range{}; };
  EXPECT_TRUE(disjoint({{x, x + 3}}, {{x + 4, x + 9}}, any));
  EXPECT_FALSE(disjoint({{x, x + 4}}, {{x + 4, x + 9}}, any));
  EXPECT_TRUE(disjoint({{0, 3}}, {{x + 4, x + 5}}, positive));
  EXPECT_FALSE(disjoint({{0, 3}}, {{x + 4, x + 5}}, any));
  EXPECT_TRUE(disjoint({{0, 9}, {5, 5}}, {{0, 9}, {4, 4}}, any));
  EXPECT_FALSE(disjoint({Interval{}}, {{4, 4}}, any));
}

// Against numbers.

constexpr std::uint32_t symbols = 3;
using Numbers = std::array<std::int64_t, symbols>;

std::int64_t floor_div(std::int64_t a, std::int64_t by) {
  std::int64_t q = a / by;
  while (q * by > a) --q;
  return q;
}

// The value of a form, taken literally.
std::int64_t value(const Affine &form, const Numbers &numbers) {
  std::int64_t sum = form.constant();
  for (const AffineTerm &term : form.terms()) {
    const auto operand = [&](std::size_t i) { return value((*term.operands)[i], numbers); };
    std::int64_t own = 0;
    switch (term.kind) {
      case AffineTerm::Kind::Symbol: own = numbers.at(term.symbol.id); break;
      case AffineTerm::Kind::Quotient: own = floor_div(operand(0), term.by); break;
      case AffineTerm::Kind::Remainder: own = operand(0) - floor_div(operand(0), term.by) * term.by; break;
      case AffineTerm::Kind::Least: own = std::min(operand(0), operand(1)); break;
      case AffineTerm::Kind::Greatest: own = std::max(operand(0), operand(1)); break;
    }
    sum += own * term.coefficient;
  }
  return sum;
}

// An expression as a form and as a function of numbers.
struct Expression {
  Affine form;
  std::function<std::int64_t(const Numbers &)> number;
};

class Expressions {
 public:
  explicit Expressions(unsigned seed) : random_(seed) {}

  Expression operator()(int depth) {
    if (depth == 0 || below(8) == 0) {
      if (below(4) == 0) {
        const std::int64_t c = below(13) - 6;
        return {c, [c](const Numbers &) { return c; }};
      }
      const auto s = static_cast<std::uint32_t>(below(symbols));
      return {Symbol::local(s), [s](const Numbers &numbers) { return numbers[s]; }};
    }
    const Expression a = (*this)(depth - 1);
    const std::int64_t by = 1 + below(8);
    switch (below(8)) {
      case 0: return {quotient(a.form, by), [=](const Numbers &m) { return floor_div(a.number(m), by); }};
      case 1:
        return {remainder(a.form, by), [=](const Numbers &m) { return a.number(m) - by * floor_div(a.number(m), by); }};
      case 2: return {a.form * (by - 4), [=](const Numbers &m) { return a.number(m) * (by - 4); }};
      case 3: {
        // The identity that splits and joins an index.
        return {quotient(a.form, by) * by + remainder(a.form, by), a.number};
      }
      default: break;
    }
    const Expression b = (*this)(depth - 1);
    switch (below(5)) {
      case 0: return {a.form - b.form, [=](const Numbers &m) { return a.number(m) - b.number(m); }};
      case 1: return {least(a.form, b.form), [=](const Numbers &m) { return std::min(a.number(m), b.number(m)); }};
      case 2: return {greatest(a.form, b.form), [=](const Numbers &m) { return std::max(a.number(m), b.number(m)); }};
      default: return {a.form + b.form, [=](const Numbers &m) { return a.number(m) + b.number(m); }};
    }
  }

  std::int64_t below(std::int64_t count) { return std::uniform_int_distribution<std::int64_t>(0, count - 1)(random_); }

 private:
  std::mt19937 random_;
};

template <class F>
void for_all_numbers(std::int64_t low, std::int64_t high, F f) {
  for (std::int64_t a = low; a <= high; ++a)
    for (std::int64_t b = low; b <= high; ++b)
      for (std::int64_t c = low; c <= high; ++c) f(Numbers{a, b, c});
}

constexpr int trials = 800;

TEST(Affine, TheGreaterOfTwoQuotientsIsThatOfTheGreaterNumber) {
  const Affine x = Symbol::local(0), y = Symbol::local(1);
  EXPECT_EQ(greatest(quotient(x, 2), quotient(x + 1, 2)), quotient(x + 1, 2));
  EXPECT_EQ(least(quotient(x, 3) + 1, quotient(x + 5, 3)), quotient(x + 3, 3));
  EXPECT_EQ(greatest(y * 8 + quotient(least(x, y), 2), y * 8 + quotient(least(x, y) + 3, 2) - 1),
            y * 8 + quotient(least(x, y) + 1, 2));
  EXPECT_NE(greatest(quotient(x, 2), quotient(x, 3)), quotient(x, 2));
}

TEST(RandomAffine, IsTheExpressionForAllNumbers) {
  Expressions expressions(1);
  int known = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const Expression expression = expressions(4);
    if (!expression.form.known()) continue;
    ++known;
    for_all_numbers(-6, 6, [&](const Numbers &m) {
      ASSERT_EQ(value(expression.form, m), expression.number(m)) << to_string(expression.form);
    });
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(known, trials * 9 / 10);
}

TEST(RandomAffine, SubstitutionAndCoefficientsAreThoseOfTheNumbers) {
  Expressions expressions(2);
  for (int trial = 0; trial < trials; ++trial) {
    const Expression a = expressions(3), b = expressions(2);
    const auto s = static_cast<std::uint32_t>(expressions.below(symbols));
    const Affine replaced = a.form.substitute(Symbol::local(s), b.form);
    const auto coefficient = a.form.coefficient(Symbol::local(s));
    for_all_numbers(-3, 4, [&](const Numbers &m) {
      Numbers inner = m, next = m;
      inner[s] = b.number(m);
      ++next[s];
      if (replaced.known()) {
        ASSERT_EQ(value(replaced, m), a.number(inner)) << to_string(a.form);
      }
      if (coefficient) {
        ASSERT_EQ(a.number(next) - a.number(m), *coefficient) << to_string(a.form);
      }
      if (!a.form.contains(Symbol::local(s))) {
        ASSERT_EQ(a.number(next), a.number(m)) << to_string(a.form);
      }
    });
    if (HasFatalFailure()) return;
  }
}

TEST(RandomInterval, HoldsEveryNumberOfTheForm) {
  Expressions expressions(3);
  std::int64_t bounded = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const Expression a = expressions(3), low = expressions(1);
    const std::int64_t extent = 1 + expressions.below(5);
    const Symbol s = Symbol::local(0);
    if (!a.form.known() || low.form.contains(s)) continue;
    const Interval interval = over(a.form, s, {low.form, low.form + (extent - 1)});
    ASSERT_FALSE(interval.lower.contains(s) || interval.upper.contains(s));
    bounded += interval.lower.known() && interval.upper.known();
    for_all_numbers(-4, 5, [&](Numbers m) {
      const std::int64_t first = low.number(m);
      for (m[0] = first; m[0] < first + extent; ++m[0]) {
        if (interval.lower.known()) {
          ASSERT_GE(a.number(m), value(interval.lower, m)) << to_string(a.form);
        }
        if (interval.upper.known()) {
          ASSERT_LE(a.number(m), value(interval.upper, m)) << to_string(a.form);
        }
      }
    });
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(bounded, trials / 2);
}

TEST(RandomInterval, OfALoopHoldsItsIndicesAndNoneBeyond) {
  for (std::int64_t begin = -5; begin <= 5; ++begin)
    for (std::int64_t end = -5; end <= 5; ++end)
      for (const std::int64_t step : {-3, -2, -1, 1, 2, 3}) {
        std::vector<std::int64_t> indices;
        for (std::int64_t i = begin; step > 0 ? i < end : i > end; i += step) indices.push_back(i);
        const Interval interval = Interval::of_loop(begin, end, step);
        if (indices.empty()) {
          EXPECT_LE(interval.extent().constant(), 0);
        } else {
          EXPECT_EQ(interval.lower.constant(), std::ranges::min(indices));
          EXPECT_EQ(interval.upper.constant(), std::ranges::max(indices));
        }
      }
}

TEST(RandomInterval, RangesHoldEveryNumberOfTheForm) {
  Expressions expressions(4);
  const std::array<Range, symbols> ranges{Range{-4, 5}, Range{0, 5}, Range{-4, -1}};
  for (int trial = 0; trial < trials; ++trial) {
    const Expression a = expressions(4);
    if (!a.form.known()) continue;
    const Range range = range_of(a.form, [&](const Symbol &symbol) { return ranges.at(symbol.id); });
    for_all_numbers(-4, 5, [&](const Numbers &m) {
      if (m[1] < 0 || m[2] > -1) return;
      ASSERT_GE(a.number(m), range.lower) << to_string(a.form);
      ASSERT_LE(a.number(m), range.upper) << to_string(a.form);
    });
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace samite::passes
