#include "samite/schedule/sliding.h"

#include "samite/schedule/compute_with.h"

#include <algorithm>
#include <bit>

namespace samite::schedules {

using passes::Affine;
using passes::Interval;
using passes::Range;
using passes::Symbol;

namespace {

constexpr std::int64_t most_warm_up = 64;

bool is_at(const Place &place, const Site &site, std::size_t i) {
  return place.level == Place::Level::at && place.function == site.function && place.loop == site.nest.loops[i].name;
}

// The regions needed in one iteration.
Boxes needed_in(const Lowering &lowering, const Site &site, std::size_t i, const Affine &iteration,
                const Trim &trim = {}) {
  Site there = site;
  put(there, site.nest.loops[i].symbol, iteration);
  return needed(lowering, there, i + 1, trim);
}

// Examines one loop. Gives up on anything unknown.
class Search {
 public:
  Search(Lowering &lowering, const Site &site, std::size_t i)
      : lowering_(lowering), site_(site), i_(i), symbol_(site.nest.loops[i].symbol) {}

  std::optional<Sliding> run() {
    if (!is_plain_loop() || !find_functions()) return std::nullopt;
    // Includes warm-up iterations.
    const Range own = lowering_.symbols.range_of(symbol_);
    lowering_.symbols.set_range(symbol_, {-most_warm_up, own.upper});
    const bool known = find_parts() && find_warm_up();
    lowering_.symbols.set_range(symbol_, own);
    if (!known) return std::nullopt;
    return std::move(found_);
  }

 private:
  bool is_plain_loop() const {
    const NestLoop &loop = site_.nest.loops[i_];
    return !lowering_.gpu && !lowering_.open.threads && !lowering_.open.lanes && loop.type == LoopType::serial &&
           site_.nest.guards.empty() && site_.followers.empty() && !(loop.extent == Affine(1));
  }

  // Functions computed in this loop, and those of them that slide.
  bool find_functions() {
    for (const std::uint32_t f : computed_inside(lowering_, site_, i_)) {
      const FunctionSchedule &schedule = lowering_.schedules[f];
      if (schedule.space == ir::MemorySpace::registers) return false;
      if (!is_at(schedule.compute, site_, i_)) continue;
      if (sharing_loops(lowering_.algorithm, lowering_.schedules, f).size() != 1) return false;
      if (!loads_for_all(lowering_, f)) return false;
      here_.push_back(f);
      if (!(schedule.store == schedule.compute)) slide_.push_back(f);
    }
    return !slide_.empty();
  }

  bool is_known(const Affine &form) const {
    bool plain = form.known();
    // The form does not show values derived from the loop's index.
    form.for_each_symbol([&](const Symbol &of) {
      plain = plain && (of == symbol_ || !lowering_.symbols.depends_on(
                                             Affine(of), [&](const Symbol &symbol) { return symbol == symbol_; }));
    });
    return plain;
  }

  std::optional<std::int64_t> most(const Affine &form) const {
    return form.known() ? at_most(form, lowering_.symbols.range()) : std::nullopt;
  }
  bool forwards(const Affine &now, const Affine &before) const { return most(before - now).value_or(1) <= 0; }

  bool find_parts() {
    now_ = needed(lowering_, site_, i_ + 1);
    found_.before = needed_in(lowering_, site_, i_, Affine(symbol_) - 1);
    found_.first = needed_in(lowering_, site_, i_, 0);
    for (const std::uint32_t f : here_) {
      const auto now = now_.find(f), before = found_.before.find(f);
      if (now == now_.end() || before == found_.before.end() || !found_.first.contains(f)) return false;
      std::optional<std::size_t> moves;
      for (std::size_t d = 0; d < now->second->size(); ++d) {
        const Interval &of = (*now->second)[d], &of_before = (*before->second)[d];
        if (!is_known(of.lower) || !is_known(of.upper)) return false;
        if (of == of_before) continue;
        if (moves || !forwards(of.lower, of_before.lower) || !forwards(of.upper, of_before.upper)) return false;
        moves = d;
      }
      if (moves ? !is_pure_along(lowering_, f, *moves) : lowering_.function(f).definitions.size() != 1) return false;
      if (std::ranges::find(slide_, f) == slide_.end()) continue;
      if (!moves) return false;
      found_.functions.insert_or_assign(f, Sliding::Function{*moves, 0});
    }
    found_.parts = needed(lowering_, site_, i_ + 1, [&](std::uint32_t f, Box &box) {
      const auto slides = found_.functions.find(f);
      if (slides == found_.functions.end()) return;
      Interval &of = box[slides->second.dimension];
      const Affine next = (*found_.before.at(f))[slides->second.dimension].upper + 1;
      if (const Affine lower = greatest(of.lower, next); lower.known()) of.lower = lower;
    });
    for (auto &[f, slides] : found_.functions) {
      const Affine upper = (*now_.at(f))[slides.dimension].upper, lower = (*found_.parts.at(f))[slides.dimension].lower;
      const auto count = most(upper - lower + 1);
      if (!count) return false;
      slides.at_once = std::max<std::int64_t>(*count, 1);
    }
    return true;
  }

  // The number of warm-up iterations after which no iteration computes more of a function than it needs at once.
  bool find_warm_up() {
    for (const auto &[f, slides] : found_.functions) {
      const Affine upper = (*now_.at(f))[slides.dimension].upper, begin = (*found_.first.at(f))[slides.dimension].lower;
      for (;; ++found_.warm_up) {
        if (found_.warm_up > most_warm_up) return false;
        const auto count = most(upper.substitute(symbol_, -found_.warm_up) - begin + 1);
        if (count && *count <= slides.at_once) break;
      }
    }
    return true;
  }

  Lowering &lowering_;
  const Site &site_;
  std::size_t i_;
  Symbol symbol_;
  std::vector<std::uint32_t> here_, slide_;
  Boxes now_;
  Sliding found_;
};

}  // namespace

bool is_pure_along(const Lowering &lowering, std::uint32_t f, std::size_t dimension) {
  return std::ranges::all_of(lowering.function(f).definitions, [&](const Definition &definition) {
    const auto &variable = definition.pure[dimension];
    if (!variable) return false;
    return std::ranges::all_of(definition.body, [&](const ir::Stmt &stmt) {
      const ir::Let *let = stmt.as<ir::Let>();
      if (!let || let->value.op != ir::Op::Load) return true;
      const auto called = lowering.algorithm.function_of(let->value.array);
      if (!called || called->function != f) return true;
      const ir::Value &index = let->value.operands[dimension];
      return index.is_local() && index.id() == variable->local;
    });
  });
}

std::optional<SlidingAround> sliding_around(Lowering &lowering, const Site &site, std::size_t l, std::size_t i,
                                            std::uint32_t f) {
  const NestLoop &loop = site.nest.loops[l];
  if (lowering.gpu || lowering.open.threads || lowering.open.lanes || loop.type != LoopType::serial ||
      loop.extent == Affine(1) || !site.nest.guards.empty() || !site.nest.guarded.empty() || !site.followers.empty())
    return std::nullopt;
  const auto range = lowering.symbols.range();
  const auto at_or_after = [&](const Affine &a, const Affine &b) { return at_least(a - b, range).value_or(-1) >= 0; };
  // In one iteration of loop i, in all of an iteration of loop l, and in all of the one before.
  const Boxes in_one = needed(lowering, site, i + 1), in_all = needed(lowering, site, l + 1),
              in_all_before = needed_in(lowering, site, l, Affine(loop.symbol) - 1);
  const auto one = in_one.find(f), now = in_all.find(f), before = in_all_before.find(f);
  if (one == in_one.end() || now == in_all.end() || before == in_all_before.end()) return std::nullopt;
  // A symbol computed from the loop's index does not change with it in a form: it has its current value in the form of
  // the iteration before, too.
  const auto is_made = [&](const Affine &form) {
    bool made = !form.known();
    form.for_each_symbol([&](const Symbol &of) {
      made = made || (!(of == loop.symbol) &&
                      lowering.symbols.depends_on(Affine(of), [&](const Symbol &s) { return s == loop.symbol; }));
    });
    return made;
  };
  std::optional<std::size_t> moves;
  for (std::size_t d = 0; d < now->second->size(); ++d) {
    const Interval &of = (*now->second)[d], &of_before = (*before->second)[d];
    for (const Affine &form : {of.lower, of.upper, of_before.lower, of_before.upper})
      if (is_made(form)) return std::nullopt;
    if (rounded(lowering, f, d) != 1 || !at_or_after(of.lower, of_before.lower)) return std::nullopt;
    if (at_or_after(of_before.upper, of.upper)) continue;
    if (moves) return std::nullopt;
    moves = d;
  }
  if (!moves || !is_pure_along(lowering, f, *moves)) return std::nullopt;
  const Interval &of = (*one->second)[*moves];
  const auto count = at_most(of.upper - of.lower + 1, range);
  return SlidingAround{loop.symbol, *moves, (*before->second)[*moves].upper + 1,
                       count ? std::max<std::int64_t>(*count, 1) : 0};
}

std::optional<Sliding> sliding(Lowering &lowering, const Site &site, std::size_t i) {
  return Search(lowering, site, i).run();
}

std::map<int, std::int64_t> folds_of_sliding(Lowering &lowering, const Site &site, std::size_t from, std::uint32_t f) {
  for (std::size_t i = from; i < site.nest.loops.size(); ++i) {
    if (site.nest.loops[i].type != LoopType::serial) break;
    if (!is_at(lowering.schedules[f].compute, site, i)) continue;
    const std::optional<Sliding> slides = sliding(lowering, site, i);
    if (!slides || !slides->functions.contains(f)) break;
    const auto [dimension, at_once] = slides->functions.at(f);
    // If loops around this one keep its results, they need all of them.
    std::optional<SlidingAround> around;
    bool several = false;
    for (std::size_t l = from; l < i; ++l) {
      const auto one = sliding_around(lowering, site, l, i, f);
      if (!one || one->dimension == dimension) continue;
      several = several || around;
      around = one;
    }
    if (around) {
      if (several || around->at_once == 0) return {};
      return {{static_cast<int>(around->dimension),
               static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(around->at_once)))}};
    }
    return {
        {static_cast<int>(dimension), static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(at_once)))}};
  }
  return {};
}

}  // namespace samite::schedules
