#include "samite/passes/analysis/interval.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace samite::passes {

namespace {

using Kind = AffineTerm::Kind;

// A bound of the minimum or maximum of two numbers, one of which may suffice: the minimum is below both.
Affine one_is_enough(const Affine &a, const Affine &b, Affine (*both)(const Affine &, const Affine &)) {
  if (!a.known()) return b;
  const Affine of_both = both(a, b);
  return of_both.known() ? of_both : a;
}

Interval over_term(const AffineTerm &term, const Symbol &symbol, const Interval &range) {
  if (term.kind == Kind::Symbol) return term.symbol == symbol ? range : Interval::of(term.symbol);
  std::array<Interval, 2> of;
  for (std::size_t i = 0; i < term.operands->size(); ++i) of[i] = over((*term.operands)[i], symbol, range);
  switch (term.kind) {
    case Kind::Quotient: return {quotient(of[0].lower, term.by), quotient(of[0].upper, term.by)};
    case Kind::Remainder: {
      const Affine first = quotient(of[0].lower, term.by), last = quotient(of[0].upper, term.by);
      if (first.known() && first == last) return {remainder(of[0].lower, term.by), remainder(of[0].upper, term.by)};
      return {0, term.by - 1};
    }
    case Kind::Least: return {least(of[0].lower, of[1].lower), one_is_enough(of[0].upper, of[1].upper, least)};
    case Kind::Greatest: return {one_is_enough(of[0].lower, of[1].lower, greatest), greatest(of[0].upper, of[1].upper)};
    case Kind::Symbol: break;
  }
  return {};
}

std::int64_t clamped(__int128 value) {
  return static_cast<std::int64_t>(std::clamp<__int128>(value, Range::none_below, Range::none_above));
}
std::int64_t sum(std::int64_t a, std::int64_t b, std::int64_t none) {
  return a == none || b == none ? none : clamped(__int128{a} + b);
}
std::int64_t times(std::int64_t a, std::int64_t by) {
  if (a != Range::none_below && a != Range::none_above) return clamped(__int128{a} * by);
  return (a > 0) == (by > 0) ? Range::none_above : Range::none_below;
}
std::int64_t divided(std::int64_t a, std::int64_t by) {
  if (a == Range::none_below || a == Range::none_above) return a;
  return a / by - (a % by < 0);
}

Range range_of_term(const AffineTerm &term, const RangeOfSymbol &of) {
  if (term.kind == Kind::Symbol) return of(term.symbol);
  const Range a = range_of((*term.operands)[0], of);
  switch (term.kind) {
    case Kind::Quotient: return {divided(a.lower, term.by), divided(a.upper, term.by)};
    case Kind::Remainder:
      if (a.lower >= 0 && a.upper < term.by) return a;
      return {0, term.by - 1};
    default: break;
  }
  const Range b = range_of((*term.operands)[1], of);
  if (term.kind == Kind::Least) return {std::min(a.lower, b.lower), std::min(a.upper, b.upper)};
  return {std::max(a.lower, b.lower), std::max(a.upper, b.upper)};
}

}  // namespace

Interval Interval::of_loop(const Affine &begin, const Affine &end, const Affine &step) {
  if (!step.is_constant() || step.constant() == 0) return {};
  const std::int64_t by = step.constant();
  if (by > 0) return {begin, begin + quotient(end - 1 - begin, by) * by};
  return {begin - quotient(begin - 1 - end, -by) * -by, begin};
}

Interval operator+(const Interval &a, const Interval &b) { return {a.lower + b.lower, a.upper + b.upper}; }

Interval operator*(const Interval &a, std::int64_t by) {
  return by >= 0 ? Interval{a.lower * by, a.upper * by} : Interval{a.upper * by, a.lower * by};
}

Interval united(const Interval &a, const Interval &b) { return {least(a.lower, b.lower), greatest(a.upper, b.upper)}; }

Interval over(const Affine &form, const Symbol &symbol, const Interval &range) {
  if (!form.contains(symbol)) return Interval::of(form);
  Interval result = Interval::of(form.constant());
  for (const AffineTerm &term : form.terms()) result = result + over_term(term, symbol, range) * term.coefficient;
  return result;
}

Interval over(const Interval &interval, const Symbol &symbol, const Interval &range) {
  return {over(interval.lower, symbol, range).lower, over(interval.upper, symbol, range).upper};
}

std::string to_string(const Interval &interval) {
  return fmt::format("[{}, {}]", to_string(interval.lower), to_string(interval.upper));
}

Range operator+(const Range &a, const Range &b) {
  return {sum(a.lower, b.lower, Range::none_below), sum(a.upper, b.upper, Range::none_above)};
}

Range operator*(const Range &a, std::int64_t by) {
  if (by == 0) return {0, 0};
  const std::int64_t x = times(a.lower, by), y = times(a.upper, by);
  return by > 0 ? Range{x, y} : Range{y, x};
}

Range united(const Range &a, const Range &b) { return {std::min(a.lower, b.lower), std::max(a.upper, b.upper)}; }

Range range_of(const Affine &form, const RangeOfSymbol &of) {
  if (!form.known()) return {};
  Range result{form.constant(), form.constant()};
  for (const AffineTerm &term : form.terms()) result = result + range_of_term(term, of) * term.coefficient;
  return result;
}

bool disjoint(const Region &a, const Region &b, const RangeOfSymbol &of) {
  const auto below = [&](const Interval &first, const Interval &second) {
    return range_of(second.lower - first.upper, of).lower >= 1;
  };
  for (std::size_t d = 0; d < std::min(a.size(), b.size()); ++d)
    if (below(a[d], b[d]) || below(b[d], a[d])) return true;
  return false;
}

}  // namespace samite::passes
