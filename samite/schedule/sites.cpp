#include "samite/schedule/sites.h"

#include <fmt/core.h>

#include <algorithm>

namespace samite::schedules {

using namespace ir;
using passes::Affine;
using passes::Interval;
using passes::Range;
using passes::Symbol;

namespace {

Affine in_nest(Affine form, const Nest &nest) {
  for (const auto &[variable, of] : nest.variables) form = form.substitute(Symbol::local(variable), of);
  return form;
}

// The variables that a definition derives from others. Guards from number `first` on count as splits.
void add_joined(const Lowering &lowering, const Definition &definition, std::size_t first,
                const std::set<std::size_t> &whole_pieces, Nest &nest) {
  for (const JoinedVariable &joined : definition.joined) {
    const LocalId local = joined.variable.local;
    const Extent &of = lowering.ranges.reductions.extents.at(local);
    nest.variables.insert_or_assign(local, of.begin + in_nest(joined.value, nest));
    nest.ranges.insert_or_assign(local, Interval{of.begin, of.begin + of.extent - 1});
    nest.guarded.insert(local);
  }
  for (std::size_t g = 0; g < definition.guards.size(); ++g) {
    const Guard &guard = definition.guards[g];
    if (whole_pieces.contains(first + g)) continue;
    const Affine &extent = lowering.ranges.reductions.guards.at(&guard);
    const Interval all = over_all(guard.value, nest.ranges);
    if (at_least(extent - all.upper, lowering.symbols.range()).value_or(0) > 0) continue;
    nest.guards.emplace_back(in_nest(guard.value, nest), extent);
    nest.pieces.push_back({first + g, in_nest(guard.outer, nest), quotient(extent, guard.factor)});
  }
}

// The range for which a definition loads, if it differs from that for which it stores.
void add_loaded(const DefinitionSchedule &schedule, const Definition &definition, const Region &region, Nest &nest) {
  for (std::size_t d = 0; d < region.size(); ++d) {
    if (!definition.pure[d]) continue;
    const LocalId local = definition.pure[d]->local;
    Affine loaded = region[d].extent;
    if (region[d].asked) {
      loaded = *region[d].asked;
      nest.asked.insert_or_assign(local, loaded);
      nest.load_guards.emplace_back(nest.variables.at(local) - region[d].begin, loaded);
    }
    const std::int64_t multiple = computed_to(schedule, schedule.roots[d]);
    if (multiple != 1) loaded = quotient(loaded + (multiple - 1), multiple) * multiple;
    if (region[d].asked || multiple != 1) nest.loaded.insert_or_assign(local, loaded);
  }
}

// The form, limited to the ends of the chunks that only these loops iterate over.
Affine within_pieces(const Site &site, const std::vector<OpenLoop> &loops, Affine form) {
  const auto is_inside = [&](const Symbol &symbol) {
    return std::ranges::any_of(loops, [&](const OpenLoop &loop) { return loop.symbol == symbol; });
  };
  for (const auto &[value, whole] : site.nest.ends) {
    std::optional<Symbol> some;
    bool all_inside = true;
    value.for_each_symbol([&](const Symbol &symbol) {
      if (!some) some = symbol;
      all_inside = all_inside && is_inside(symbol);
    });
    if (!some || !all_inside) continue;
    const std::int64_t of_value = value.coefficient(*some).value_or(0), of_form = form.coefficient(*some).value_or(0);
    if (of_value == 0 || of_form / of_value <= 0) continue;
    const std::int64_t times = of_form / of_value;
    const Affine rest = form - value * times, end = least(value, whole - 1);
    bool is_apart = rest.known() && end.known();
    value.for_each_symbol([&](const Symbol &symbol) { is_apart = is_apart && !rest.contains(symbol); });
    if (is_apart && (rest + end * times).known()) form = rest + end * times;
  }
  return form;
}

// The regions that the definition itself calls.
void add_needed(const Lowering &lowering, const Site &site, std::size_t from, Boxes &boxes) {
  std::vector<OpenLoop> inner;
  for (std::size_t i = from; i < site.nest.loops.size(); ++i)
    inner.push_back({site.nest.loops[i].symbol, site.nest.loops[i].extent, false});
  Environment environment;
  for (const auto &[variable, form] : site.nest.variables) {
    Interval interval = lowering.symbols.over_loops(Interval::of(within_pieces(site, inner, form)), inner);
    // If all of its loops are inside, partial chunks may not be seen to end with the variable.
    const bool all_inside = std::none_of(
        site.nest.loops.begin(), site.nest.loops.begin() + static_cast<std::ptrdiff_t>(from),
        [&](const NestLoop &loop) {
          return lowering.symbols.depends_on(form, [&](const Symbol &symbol) { return symbol == loop.symbol; });
        });
    // A single tested value is within the variable's range.
    const bool tested = site.nest.guards.empty() && interval.lower == interval.upper;
    if (const auto loaded = site.nest.loaded.find(variable); loaded != site.nest.loaded.end()) {
      const Affine last = site.nest.ranges.at(variable).lower + loaded->second - 1;
      const Affine end = least(interval.upper, last);
      interval.upper = end.known() ? end : lowering.integers.derived_once({Op::Min, {interval.upper, last}, {}});
    } else if (!tested && (all_inside || site.nest.guarded.contains(variable))) {
      const Affine end = least(interval.upper, site.nest.ranges.at(variable).upper);
      if (end.known()) interval.upper = end;  // otherwise more than needed
    }
    environment.insert_or_assign(variable, interval);
  }
  add_calls(lowering, site.definition, site.forms, environment, boxes, nullptr, &lowering.ranges.called);
}

// The same definition with other full chunks, whose outermost loops have these symbols.
Site made_again(Lowering &lowering, const Site &site, const std::set<std::size_t> &whole,
                const std::vector<Symbol> &outermost) {
  Region region;
  for (std::size_t d = 0; d < site.definition.indices.size(); ++d) {
    Extent extent{0, 1};
    if (site.definition.pure[d]) {
      const Interval &range = site.nest.ranges.at(site.definition.pure[d]->local);
      extent = {range.lower, range.upper - range.lower + 1};
      const auto asked = site.nest.asked.find(site.definition.pure[d]->local);
      if (asked != site.nest.asked.end()) extent.asked = asked->second;
    }
    region.push_back(extent);
  }
  Site again = site_of(lowering, site.function, site.number, site.schedule, region, whole, outermost);
  // A shared, open loop may continue for the others when this one has ended, also if they are written separately.
  for (const auto &guard : site.nest.shared) {
    const auto is_of = [&](const Symbol &symbol) { return guard.first == Affine(symbol); };
    if (std::ranges::none_of(outermost, is_of)) continue;
    again.nest.shared.push_back(guard);
    again.nest.guards.push_back(guard);
    again.nest.guarded.insert(site.nest.guarded.begin(), site.nest.guarded.end());
  }
  return again;
}

Affine longer(Lowering &lowering, const Affine &a, const Affine &b) {
  const auto longest = [&](const Affine &x, const Affine &y) {
    return at_least(x - y, lowering.symbols.range()).value_or(-1) >= 0;
  };
  if (longest(a, b)) return a;
  if (longest(b, a)) return b;
  const Affine both = greatest(a, b);
  return both.known() ? both : lowering.integers.derived({Op::Max, {a, b}, {}});
}

// One loop for all of them, with the longest extent, and a condition for those that end earlier.
void share_loop(Lowering &lowering, const std::vector<Site *> &sharing, std::size_t l) {
  Affine extent = sharing[0]->nest.loops[l].extent;
  for (const Site *site : sharing) extent = longer(lowering, extent, site->nest.loops[l].extent);
  const Symbol symbol = sharing[0]->nest.loops[l].symbol;
  for (Site *site : sharing) {
    Affine &own = site->nest.loops[l].extent;
    if (at_least(own - extent, lowering.symbols.range()).value_or(-1) < 0) {
      if (std::ranges::find(site->nest.shared, std::pair(Affine(symbol), own)) == site->nest.shared.end()) {
        site->nest.shared.emplace_back(symbol, own);
        site->nest.guards.emplace_back(symbol, own);
      }
      for (const auto &[variable, form] : site->nest.variables)
        if (lowering.symbols.depends_on(form, [&](const Symbol &of) { return of == symbol; }))
          site->nest.guarded.insert(variable);
    }
    own = extent;
  }
  Range within{0, Range::none_above};
  if (const auto most = at_most(extent, lowering.symbols.range())) within.upper = std::max<std::int64_t>(*most - 1, 0);
  lowering.symbols.set_range(symbol, within);
}

}  // namespace

Site site_of(Lowering &lowering, std::uint32_t f, std::size_t n, const DefinitionSchedule &schedule,
             const Region &region, const std::set<std::size_t> &whole_pieces, const std::vector<Symbol> &outermost) {
  const Definition &definition = lowering.function(f).definitions[n];
  std::vector<Root> roots;
  for (std::size_t d = 0; d < region.size(); ++d)
    if (definition.pure[d])
      roots.push_back(
          {schedule.roots[d], definition.pure[d]->local, region[d].begin, region[d].extent, rounded(lowering, f, d)});
  for (std::size_t r = 0; r < definition.reductions.size(); ++r) {
    const Extent &of = lowering.ranges.reductions.extents.at(definition.reductions[r].variable.local);
    roots.push_back({schedule.roots[region.size() + r], definition.reductions[r].variable.local, of.begin, of.extent});
  }
  std::size_t next = 0;
  NestNeeds needs{[&] { return next < outermost.size() ? outermost[next++] : lowering.integers.new_symbol(); },
                  [&](Derived what) { return lowering.integers.derived(std::move(what)); }, lowering.symbols.range(),
                  whole_pieces};
  Nest nest = nest_of(schedule, roots, needs);
  add_joined(lowering, definition, schedule.relations.size(), whole_pieces, nest);
  add_loaded(schedule, definition, region, nest);
  for (const NestLoop &loop : nest.loops) {
    Range within{0, Range::none_above};
    if (const auto most = at_most(loop.extent, lowering.symbols.range()))
      within.upper = std::max<std::int64_t>(*most - 1, 0);
    lowering.symbols.set_range(loop.symbol, within);
  }
  return Site{
      f, n, definition, schedule, Forms(definition.body, lowering.algorithm.promises), std::move(nest), whole_pieces,
      {}};
}

std::vector<const Site *> all_sites(const Site &site) {
  std::vector<const Site *> all{&site};
  for (const Follower &follower : site.followers) all.push_back(&follower.site);
  return all;
}
std::vector<Site *> all_sites(Site &site) {
  std::vector<Site *> all{&site};
  for (Follower &follower : site.followers) all.push_back(&follower.site);
  return all;
}

std::vector<Symbol> symbols_of(const Site &site, std::size_t loops) {
  std::vector<Symbol> symbols;
  for (std::size_t l = 0; l < loops; ++l) symbols.push_back(site.nest.loops[l].symbol);
  return symbols;
}

Site with_followers(Lowering &lowering, Site site, std::vector<Follower> followers) {
  site.followers = std::move(followers);
  for (std::size_t l = 0; l < site.nest.loops.size(); ++l) {
    std::vector<Site *> sharing{&site};
    for (Follower &follower : site.followers)
      if (l < follower.loops) sharing.push_back(&follower.site);
    if (sharing.size() > 1) share_loop(lowering, sharing, l);
  }
  return site;
}

void put(Site &site, const Symbol &symbol, const Affine &instead) {
  const auto fix = [&](Affine &form) { form = form.substitute(symbol, instead); };
  for (Site *of : all_sites(site)) {
    Nest &nest = of->nest;
    for (auto &[variable, form] : nest.variables) fix(form);
    for (NestLoop &loop : nest.loops) fix(loop.extent);
    for (auto *ends : {&nest.guards, &nest.ends, &nest.store_guards, &nest.load_guards, &nest.shared})
      for (auto &[value, whole] : *ends) {
        fix(value);
        fix(whole);
      }
    for (Nest::Piece &piece : nest.pieces) fix(piece.outer);
  }
}

Site same_with_whole_pieces(Lowering &lowering, const Site &site, const WholePieces &whole, std::size_t opened) {
  std::vector<Range> known;
  for (std::size_t l = 0; l < opened; ++l) known.push_back(lowering.symbols.range_of(site.nest.loops[l].symbol));
  Site alone = made_again(lowering, site, whole(site), symbols_of(site, opened));
  std::vector<Follower> followers;
  for (const Follower &follower : site.followers)
    followers.push_back({made_again(lowering, follower.site, whole(follower.site), symbols_of(alone, follower.loops)),
                         follower.loops, follower.where});
  Site again = with_followers(lowering, std::move(alone), std::move(followers));
  for (std::size_t l = 0; l < opened; ++l) {
    const Symbol symbol = site.nest.loops[l].symbol;
    lowering.symbols.set_range(symbol, known[l]);
    if (const Value value = lowering.integers.known(symbol); value.is_constant()) put(again, symbol, value.as_int());
  }
  return again;
}

Affine in_loops(const Lowering &lowering, const Site &site, const Value &index) {
  return lowering.symbols.as_known(in_nest(site.forms.form(index), site.nest));
}

Boxes needed(const Lowering &lowering, const Site &site, std::size_t from, const Trim &trim) {
  Boxes boxes;
  for (const Site *of : all_sites(site)) add_needed(lowering, *of, from, boxes);
  for (const Site *of : all_sites(site)) boxes.erase(of->function);
  follow(lowering, boxes, trim);
  return boxes;
}

std::set<std::uint32_t> reachable(const Lowering &lowering, const Definition &definition, std::uint32_t self) {
  std::set<std::uint32_t> found;
  std::vector<const Definition *> open{&definition};
  while (!open.empty()) {
    const Definition *at = open.back();
    open.pop_back();
    for (const std::uint32_t f : called_by(lowering.algorithm, *at)) {
      if (f == self || has_values(lowering, f) || !found.insert(f).second) continue;
      for (const Definition &definition_of_f : lowering.function(f).definitions) open.push_back(&definition_of_f);
    }
  }
  return found;
}

std::set<std::uint32_t> reachable(const Lowering &lowering, const Site &site) {
  std::set<std::uint32_t> found;
  for (const Site *of : all_sites(site)) found.merge(reachable(lowering, of->definition, of->function));
  return found;
}

std::set<std::uint32_t> computed_inside(const Lowering &lowering, const Site &site, std::size_t from) {
  const std::set<std::uint32_t> candidates = reachable(lowering, site);
  std::set<std::uint32_t> inside;
  for (bool grows = true; grows;) {
    grows = false;
    for (const std::uint32_t f : candidates) {
      if (inside.contains(f)) continue;
      const Place &place = lowering.schedules[f].compute;
      bool here = place.level == Place::Level::innermost;
      if (place.level == Place::Level::at) {
        here = inside.contains(place.function);
        for (const Site *of : all_sites(site))
          for (std::size_t i = from; place.function == of->function && i < of->nest.loops.size(); ++i)
            here = here || of->nest.loops[i].name == place.loop;
      }
      if (here) grows = inside.insert(f).second;
    }
  }
  return inside;
}

bool shared_here(const Lowering &lowering, std::uint32_t f) {
  const auto storage = lowering.storages.find(f);
  return storage != lowering.storages.end() ? storage->second.space == MemorySpace::shared : lowering.in_shared(f);
}

bool meets_inside(const Lowering &lowering, const Site &site, std::size_t from) {
  return std::ranges::any_of(computed_inside(lowering, site, from),
                             [&](std::uint32_t f) { return shared_here(lowering, f); });
}

bool has_type(const DefinitionSchedule &schedule, LoopType type) {
  return std::ranges::any_of(schedule.loops, [&](const Loop &loop) { return loop.type == type; }) ||
         std::ranges::any_of(schedule.specializations, [&](const auto &special) { return has_type(special, type); });
}

bool any_inside(const Lowering &lowering, const Site &site, std::size_t from, LoopType type) {
  for (const Site *of : all_sites(site))
    for (std::size_t i = from; i < of->nest.loops.size(); ++i)
      if (of->nest.loops[i].type == type) return true;
  for (const std::uint32_t f : computed_inside(lowering, site, from))
    for (const DefinitionSchedule &schedule : lowering.schedules[f].definitions)
      if (has_type(schedule, type)) return true;
  return false;
}

NestLine line_of(const Lowering &lowering, const Site &site, const NestLoop &loop, const char *kind) {
  const std::string range = loop.extent.is_constant() ? fmt::format(" in 0 .. {}", loop.extent.constant()) : "";
  const std::string &own = lowering.function(site.function).name;
  std::string names = fmt::format("{}.{}", own, loop.name);
  for (const Follower &follower : site.followers)
    if (std::ranges::any_of(follower.site.nest.loops, [&](const NestLoop &of) { return of.symbol == loop.symbol; }))
      names += fmt::format(" and {}.{}", lowering.function(follower.site.function).name, loop.name);
  return {fmt::format("{} {}{}", kind, names, range), own};
}

}  // namespace samite::schedules
