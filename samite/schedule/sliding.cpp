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
      if (lowering_.function(f).definitions.size() != 1 ||
          sharing_loops(lowering_.algorithm, lowering_.schedules, f).size() != 1)
        return false;
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
    return {
        {static_cast<int>(dimension), static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(at_once)))}};
  }
  return {};
}

}  // namespace samite::schedules
