#include "samite/schedule/symbols.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <ranges>

namespace samite::schedules {

using passes::Affine;
using passes::Interval;
using passes::Range;
using passes::Symbol;

namespace {

// Limits of a derived integer in each iteration. A quotient is no farther from zero than its dividend, whose limits
// over a loop are tighter than those of its type.
Interval limits_of(const Derived &derived) {
  constexpr std::int64_t many = 1 << 24;
  const auto is_small = [](const Affine &limit) { return !limit.is_constant() || std::abs(limit.constant()) < many; };
  const bool unlimited = !derived.range.lower.known() && !derived.range.upper.known();
  if (derived.op != ir::Op::Div || (!unlimited && is_small(derived.range.lower) && is_small(derived.range.upper)))
    return derived.range;
  const Affine &dividend = derived.operands[0];
  const Affine most = greatest(dividend, dividend * -1);
  return most.known() ? Interval{most * -1, most} : derived.range;
}

}  // namespace

Range Symbols::range_of(const Symbol &symbol) const {
  if (const auto known = assumed.known.find(symbol); known != assumed.known.end()) return known->second;
  if (symbol.kind == Symbol::Kind::Extent) return {0, (std::int64_t{1} << 31) - 1};
  const auto found = ranges_.find(symbol);
  return found == ranges_.end() ? Range{} : found->second;
}

passes::RangeOfSymbol Symbols::range() const {
  return [this](const Symbol &symbol) { return range_of(symbol); };
}

void Symbols::set_most(const Symbol &symbol, std::int64_t most) {
  ranges_[symbol].upper = std::min(ranges_[symbol].upper, most);
}

void Symbols::set_derived(const Symbol &symbol, Derived derived) {
  Range within;
  if (derived.range.lower.known()) within.lower = passes::range_of(derived.range.lower, range()).lower;
  if (derived.range.upper.known()) within.upper = passes::range_of(derived.range.upper, range()).upper;
  ranges_[symbol] = within;
  derived_.insert_or_assign(symbol, std::move(derived));
}

const Affine *Symbols::bound(const Symbol &symbol) const {
  const auto found = bound_.find(symbol);
  return found == bound_.end() ? nullptr : &found->second;
}

const Affine *Symbols::stands_for(const Symbol &symbol) const {
  if (const Affine *form = bound(symbol)) return form;
  const auto found = computed_.find(symbol);
  return found == computed_.end() ? nullptr : &found->second;
}

Affine Symbols::shortest(const Affine &form) const {
  Affine written_out = form;
  for (;;) {
    std::optional<Symbol> named;
    written_out.for_each_symbol([&](const Symbol &symbol) {
      if (!named && stands_for(symbol)) named = symbol;
    });
    if (!named) break;
    written_out = written_out.substitute(*named, *stands_for(*named));
    if (!written_out.known()) return form;
  }
  return written_out.nodes() < form.nodes() ? written_out : form;
}

const Derived *Symbols::derived(const Symbol &symbol) const {
  const auto found = derived_.find(symbol);
  return found == derived_.end() ? nullptr : &found->second;
}

bool Symbols::depends_on(const Affine &form, const std::function<bool(const Symbol &)> &of) const {
  bool depends = false;
  form.for_each_symbol([&](const Symbol &symbol) {
    if (depends || of(symbol)) {
      depends = true;
      return;
    }
    if (const Affine *stands_for = bound(symbol)) depends = depends_on(*stands_for, of);
    if (const Derived *made = derived(symbol))
      depends = std::ranges::any_of(made->operands, [&](const Affine &operand) { return depends_on(operand, of); });
  });
  return depends;
}

Interval Symbols::over_loops(Interval interval, const std::vector<OpenLoop> &loops) const {
  const auto of_loops = [&](const Symbol &symbol) {
    return std::ranges::any_of(loops, [&](const OpenLoop &loop) { return loop.symbol == symbol; });
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (Affine *side : {&interval.lower, &interval.upper}) {
      std::optional<Symbol> made;
      side->for_each_symbol([&](const Symbol &symbol) {
        if (!made && (bound(symbol) || derived(symbol)) && depends_on(symbol, of_loops)) made = symbol;
      });
      if (!made) continue;
      changed = true;
      if (const Affine *stands_for = bound(*made)) {
        *side = side->substitute(*made, *stands_for);
        continue;
      }
      const Interval limited = over(*side, *made, limits_of(*derived(*made)));
      *side = side == &interval.lower ? limited.lower : limited.upper;
    }
  }
  for (const auto &loop : std::views::reverse(loops)) interval = over(interval, loop.symbol, {0, loop.extent - 1});
  return interval;
}

Affine Symbols::as_known(const Affine &form) const {
  if ((assumed.fixed.empty() && assumed.known.empty()) || !form.known()) return form;
  Affine result = form;
  for (;;) {
    std::optional<Symbol> known;
    result.for_each_symbol([&](const Symbol &symbol) {
      if (!known && (assumed.fixed.contains(symbol) || is_computed_of_known(symbol))) known = symbol;
    });
    if (!known) return result;
    const auto fixed = assumed.fixed.find(*known);
    result = result.substitute(*known, fixed != assumed.fixed.end() ? fixed->second : computed_.at(*known));
    if (!result.known()) return form;
  }
}

bool Symbols::is_computed_of_known(const Symbol &symbol) const {
  const auto computed = computed_.find(symbol);
  bool of_known = false;
  if (computed != computed_.end())
    computed->second.for_each_symbol([&](const Symbol &of) {
      of_known = of_known || assumed.fixed.contains(of) || assumed.known.contains(of) || is_computed_of_known(of);
    });
  return of_known;
}

}  // namespace samite::schedules
