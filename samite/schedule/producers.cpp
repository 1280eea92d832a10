#include "samite/schedule/producers.h"

#include "samite/base/error.h"
#include "samite/schedule/compute_with.h"
#include "samite/schedule/definitions.h"
#include "samite/schedule/loops.h"
#include "samite/schedule/thread_loops.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace samite::schedules {

using namespace ir;
using passes::Affine;
using passes::Interval;
using passes::Symbol;

namespace {

// The required regions at one place, of all functions that are computed there: found once, since callers have no values
// before their callees.
class Needs {
 public:
  Needs(Lowering &lowering, const Site &site, std::size_t from, const Earlier &earlier)
      : lowering_(lowering), site_(site), from_(from), earlier_(earlier) {}

  const Box &box(std::uint32_t f) {
    if (!here_) here_ = needed(lowering_, site_, from_);
    const auto found = here_->find(f);
    internal_check(found != here_->end(), "a function that is computed is not needed");
    return *found->second;
  }
  Region region(std::uint32_t f) { return region_of(lowering_, f, box(f)); }

  const Site &site() const { return site_; }
  std::size_t from() const { return from_; }
  const Earlier &earlier() const { return earlier_; }
  // For the previous iteration; null if there is none, or if it did not need the function.
  const Box *before(std::uint32_t f) {
    if (!earlier_.before) return nullptr;
    if (!before_) before_ = needed(lowering_, *earlier_.before, from_);
    const auto found = before_->find(f);
    return found == before_->end() ? nullptr : &*found->second;
  }

  // The functions were computed in another order than callees before callers.
  void forget() {
    here_.reset();
    before_.reset();
  }

 private:
  Lowering &lowering_;
  const Site &site_;
  std::size_t from_;
  const Earlier &earlier_;
  std::optional<Boxes> here_, before_;
};

// Folded storage must have room for all elements that are needed at once.
void check_fold(const Lowering &lowering, std::uint32_t f, const Box &box, const Earlier &earlier = {}) {
  for (const auto &[d, period] : lowering.schedules[f].folds) {
    const auto dimension = static_cast<std::size_t>(d);
    auto most = at_most(box[dimension].upper - box[dimension].lower + 1, lowering.symbols.range());
    if (earlier.sliding)
      if (const auto slides = earlier.sliding->functions.find(f);
          slides != earlier.sliding->functions.end() && slides->second.dimension == dimension)
        most = slides->second.at_once;
    if (most && *most <= period) continue;
    const bool known = most && *most <= most_told;
    throw UserError(
        lowering.schedules[f].compute.where,
        fmt::format("the storage of '{0}' is folded along '{1}' after {2} elements, and {3} are needed at "
                    "once; fold it after {4}",
                    lowering.function(f).name, lowering.function(f).definitions[0].pure[dimension]->name, period,
                    known ? std::to_string(*most) : std::string("more, how many is known at launch only,"),
                    known ? fmt::format("{} or more", *most) : std::string("as many, or not at all")));
  }
}

// A symbol for the maximum of two forms.
Symbol larger(Lowering &lowering, const Affine &a, const Affine &b) {
  const Symbol symbol = lowering.integers.new_symbol();
  lowering.integers.set(symbol, lowering.write(Op::Max, lowering.integers.value_of(a), lowering.integers.value_of(b)));
  lowering.symbols.set_range(symbol, {});
  return symbol;
}

// In a loop with warm-up iterations: from the start of the first iteration's region on, or from the end of the previous
// one's. Before the first iteration that may be empty.
Region slid_row_by_row(Lowering &lowering, std::uint32_t f, Box box, const Earlier &earlier) {
  const Sliding &sliding = *earlier.sliding;
  const std::size_t d = sliding.functions.at(f).dimension;
  const Affine first = (*sliding.first.at(f))[d].lower, next = (*sliding.before.at(f))[d].upper + 1;
  const Affine later = greatest(box[d].lower, next);
  const Symbol rest = larger(lowering, first, later.known() ? later : next), begin = lowering.integers.new_symbol();
  const Value is_first =
      lowering.write(Op::Equal, lowering.integers.value_of(*earlier.symbol), number(-sliding.warm_up));
  lowering.integers.set(begin, lowering.write.operation(
                                   {Op::Select,
                                    ScalarType::Int32,
                                    {is_first, lowering.integers.value_of(first), lowering.integers.value_of(rest)}}));
  lowering.symbols.set_range(begin, {});
  box[d].lower = begin;
  return region_of(lowering, f, box);
}

// The dimension along which the required region moves forwards, and the end of the part that the previous iteration
// left.
struct NewPart {
  std::size_t dimension;
  Affine begin;
};

std::optional<NewPart> new_part(const Lowering &lowering, std::uint32_t f, const Box &box, const Box *before) {
  // With rounding up, less may have been computed than the box says.
  if (!before || !loads_for_all(lowering, f)) return std::nullopt;
  std::optional<std::size_t> moves;
  for (std::size_t d = 0; d < box.size(); ++d) {
    if (box[d] == (*before)[d]) continue;
    const bool forwards = at_least(box[d].lower - (*before)[d].lower, lowering.symbols.range()).value_or(-1) >= 0;
    if (moves || !forwards) return std::nullopt;
    moves = d;
  }
  if (!moves || !is_pure_along(lowering, f, *moves)) return std::nullopt;
  const Affine next = greatest(box[*moves].lower, (*before)[*moves].upper + 1);
  return next.known() ? std::optional(NewPart{*moves, next}) : std::nullopt;
}

// Excludes from `box`, the region to compute, the parts left by earlier iterations of loops between the one that stores
// the Func and the one that computes it.
void slide_around(Lowering &lowering, std::uint32_t f, const Needs &needs, Box &box) {
  if (needs.from() < 2) return;
  const Storage storage = lowering.storages.at(f);
  for (std::size_t l = 0; l + 1 < needs.from(); ++l) {
    const Symbol loop = needs.site().nest.loops[l].symbol;
    const auto open = std::ranges::find(lowering.open.all, loop, &OpenLoop::symbol);
    const auto around = static_cast<std::size_t>(open - lowering.open.all.begin());
    if (open == lowering.open.all.end() || around < storage.loops) continue;
    const auto slides = sliding_around(lowering, needs.site(), l, needs.from() - 1, f);
    if (!slides) continue;
    // Memory that is used cyclically has lost the elements further back along its own dimension.
    bool kept = true;
    for (std::size_t d = 0; d < storage.folds.size(); ++d) kept = kept && (d == slides->dimension || !storage.folds[d]);
    if (!kept) continue;
    Affine &lower = box[slides->dimension].lower;
    const Symbol rest = larger(lowering, lower, slides->next), begin = lowering.integers.new_symbol();
    const Value first = lowering.write(Op::Equal, lowering.integers.value_of(loop), number(0));
    lowering.integers.set(begin, lowering.write.operation(
                                     {Op::Select,
                                      ScalarType::Int32,
                                      {first, lowering.integers.value_of(lower), lowering.integers.value_of(rest)}}));
    lowering.symbols.set_range(begin, {});
    lower = begin;
  }
}

// Excludes values that the previous iteration left in storage outside of the loop, if the required region moves
// forwards along one dimension.
Region slid(Lowering &lowering, std::uint32_t f, Needs &needs) {
  Box box = needs.box(f);
  check_fold(lowering, f, box, needs.earlier());
  if (needs.earlier().sliding && needs.earlier().sliding->functions.contains(f))
    return slid_row_by_row(lowering, f, box, needs.earlier());
  const auto part = new_part(lowering, f, box, needs.before(f));
  if (!part) return region_of(lowering, f, box);
  Interval &dimension = box[part->dimension];
  const Affine next = part->begin;
  const std::optional<Symbol> &index = needs.earlier().symbol;
  if (!index) {
    dimension.lower = next;
    return region_of(lowering, f, box);
  }
  const Symbol begin = lowering.integers.new_symbol();
  const Value first = lowering.write(Op::Equal, lowering.integers.value_of(*index), number(0));
  const Value slid = lowering.write.operation(
      {Op::Select,
       ScalarType::Int32,
       {first, lowering.integers.value_of(dimension.lower), lowering.integers.value_of(next)}});
  lowering.integers.set(begin, slid);
  lowering.symbols.set_range(begin, {});
  dimension.lower = begin;
  slide_around(lowering, f, needs, box);
  return region_of(lowering, f, box);
}

// For a function that each iteration recomputes: the region needed by its callers' new parts.
Box box_of_parts(std::uint32_t f, Needs &needs) {
  return needs.earlier().sliding ? *needs.earlier().sliding->parts.at(f) : needs.box(f);
}

// Restricts the region before the first iteration to the first iteration's.
Region no_earlier_than_first(Lowering &lowering, std::uint32_t f, Box box, const Sliding &sliding) {
  const Box &first = *sliding.first.at(f);
  for (std::size_t d = 0; d < box.size(); ++d)
    if (!(box[d].lower == first[d].lower)) box[d].lower = larger(lowering, box[d].lower, first[d].lower);
  return region_of(lowering, f, box);
}

// Several functions that share loops, or one.
using Group = std::vector<std::uint32_t>;

std::string names_of(const Lowering &lowering, const Group &group) {
  std::vector<std::string> names;
  for (const std::uint32_t f : group) names.push_back(lowering.function(f).name);
  return fmt::format("{}", fmt::join(names, " and "));
}

// The innermost parallel loop between f's compute loop and its storage, and its function.
std::optional<std::pair<std::uint32_t, Loop>> parallel_between(const Lowering &lowering, std::uint32_t f) {
  const Place &store = lowering.schedules[f].store;
  for (Place at = lowering.schedules[f].compute; at.level == Place::Level::at;
       at = lowering.schedules[at.function].compute) {
    const auto &definitions = lowering.schedules[at.function].definitions;
    const bool ends = store.level == Place::Level::at && store.function == at.function;
    for (const DefinitionSchedule &definition : definitions) {
      const Loop *inner = definition.loop(at.loop);
      const Loop *outer = ends ? definition.loop(store.loop) : nullptr;
      if (!inner) continue;
      for (const Loop *loop = inner; loop >= definition.loops.data() && loop != outer; --loop)
        if (loop->type != LoopType::serial && loop->type != LoopType::unrolled) return std::pair(at.function, *loop);
    }
    if (ends) break;
  }
  return std::nullopt;
}

[[noreturn]] void refuse_shared_by_parallel(const Lowering &lowering, std::uint32_t f) {
  const std::string &name = lowering.function(f).name;
  std::string which = "parallel loops, of blocks, threads or lanes,", remedy;
  if (const auto between = parallel_between(lowering, f)) {
    const auto &[g, loop] = *between;
    const std::string &caller = lowering.function(g).name;
    const bool by_default = loop.where == lowering.function(g).where;
    which = fmt::format("loop '{}' of '{}', which is {}{},", loop.name, caller, adjective_of(loop.type),
                        by_default ? ", since the schedule says nothing of its loops" : "");
    remedy = fmt::format("say {}.serial({}), ", caller, loop.name);
  }
  throw UserError(
      lowering.schedules[f].store.where,
      fmt::format("'{0}' is kept outside of {1} and computed inside, for each iteration by itself; {2}store "
                  "'{0}' at a loop inside of that, or compute it outside",
                  name, which, remedy));
}

void compute_group(Lowering &lowering, const Group &group, const std::function<Region(std::uint32_t)> &region) {
  std::vector<Computed> computed;
  for (const std::uint32_t f : group) {
    Region of_f = region(f);
    if (!lowering.storages.contains(f)) allocate(lowering, f, of_f);
    computed.push_back({f, std::move(of_f)});
  }
  for (const std::uint32_t f : group)
    if (lowering.storages.at(f).inside != inside_now(lowering)) refuse_shared_by_parallel(lowering, f);
  const int line =
      lowering.nest.open_heading({"produce " + names_of(lowering, group), lowering.function(group[0]).name});
  compute(lowering, computed);
  lowering.nest.close(line);
}

// The block computes them for all of its threads.
void together(Lowering &lowering, const Group &group, Needs &needs) {
  std::vector<OpenLoop> threads;
  for (const OpenLoop &loop : lowering.open.all)
    if (loop.thread) threads.push_back(loop);
  std::map<std::uint32_t, Box> boxes;
  for (const std::uint32_t f : group) {
    Box box = needs.box(f);
    for (Interval &interval : box) interval = lowering.symbols.over_loops(interval, threads);
    boxes.emplace(f, std::move(box));
  }
  // The parts that the previous iteration has left of the functions that are kept outside of the loop.
  const Earlier &earlier = needs.earlier();
  std::map<std::uint32_t, Box> parts;
  for (const std::uint32_t f : group) {
    if (earlier.sliding || !lowering.storages.contains(f) || lowering.schedules[f].definitions[0].stages > 1) continue;
    const Box *const of_before = needs.before(f);
    if (!of_before) continue;
    Box before = *of_before;
    for (Interval &interval : before) interval = lowering.symbols.over_loops(interval, threads);
    const auto part = new_part(lowering, f, boxes.at(f), &before);
    if (!part) continue;
    Box box = boxes.at(f);
    box[part->dimension].lower = part->begin;
    parts.emplace(f, std::move(box));
  }
  const auto compute_boxes = [&](const std::map<std::uint32_t, Box> &of) {
    compute_group(lowering, group, [&](std::uint32_t f) {
      check_fold(lowering, f, boxes.at(f));
      return floored(lowering, f, region_of(lowering, f, of.at(f)));
    });
  };
  between_threads(lowering, [&] {
    if (parts.size() < group.size()) return compute_boxes(boxes);
    if (!earlier.symbol) return compute_boxes(parts);
    If branch{lowering.write(Op::Equal, lowering.integers.value_of(*earlier.symbol), number(0)), {}, {}, {}};
    lowering.into(branch.then_block, [&] { compute_boxes(boxes); });
    {
      const LoopNest::Silence silence(lowering.nest);
      lowering.into(branch.else_block, [&] { compute_boxes(parts); });
    }
    lowering.write.out->emplace_back(std::move(branch), lowering.write.where);
  });
}

void compute_here(Lowering &lowering, const Group &group, Needs &needs) {
  compute_group(lowering, group, [&](std::uint32_t f) {
    const bool kept = lowering.storages.contains(f);
    if (kept) return floored(lowering, f, slid(lowering, f, needs));
    if (!lowering.schedules[f].folds.empty()) check_fold(lowering, f, needs.box(f));
    const Region all = region_of(lowering, f, box_of_parts(f, needs));
    if (!needs.earlier().sliding) return floored(lowering, f, all);
    allocate(lowering, f, all);
    return no_earlier_than_first(lowering, f, box_of_parts(f, needs), *needs.earlier().sliding);
  });
}

// Whether only serial loops are between here and a function's compute loop, on the CPU.
bool computed_in_serial_loops(const Lowering &lowering, const Site &site, std::size_t from, std::uint32_t f) {
  if (lowering.gpu || !lowering.kernel.open || lowering.open.threads || lowering.open.lanes) return false;
  const Place *place = &lowering.schedules[f].compute;
  for (; place->level == Place::Level::at && place->function != site.function;
       place = &lowering.schedules[place->function].compute)
    for (const DefinitionSchedule &schedule : lowering.schedules[place->function].definitions)
      for (const Loop &loop : schedule.loops) {
        if (loop.type != LoopType::serial) return false;
        if (loop.name == place->loop) break;
      }
  if (place->level != Place::Level::at) return false;
  for (std::size_t l = from; l < site.nest.loops.size(); ++l) {
    if (site.nest.loops[l].type != LoopType::serial) return false;
    if (site.nest.loops[l].name == place->loop) return true;
  }
  return false;
}

}  // namespace

void produce(Lowering &lowering, const Site &site, std::size_t from, const Earlier &earlier) {
  produce_of(lowering, site, from, from == 0 ? 0 : from - 1, earlier);
}

void produce_of(Lowering &lowering, const Site &site, std::size_t from, std::size_t first, const Earlier &earlier) {
  const std::vector<NestLoop> &all = site.nest.loops;
  const auto here = [&](const Place &place) {
    if (place.level == Place::Level::innermost) return from == all.size() && site.followers.empty();
    if (place.level != Place::Level::at) return false;
    for (const Site *of : all_sites(site))
      for (std::size_t l = first; place.function == of->function && l < from; ++l)
        if (all[l].name == place.loop) return true;
    return false;
  };
  // Functions stored at the root, and computed in serial loops, have their memory outside of all of these.
  const auto at_root = [&](std::uint32_t f) {
    return first == 0 && lowering.schedules[f].store.level == Place::Level::root &&
           computed_in_serial_loops(lowering, site, from, f);
  };
  std::vector<std::uint32_t> computed, stored;
  const std::set<std::uint32_t> candidates = reachable(lowering, site);
  for (const std::uint32_t f : lowering.algorithm.order) {
    if (!candidates.contains(f)) continue;
    const bool compute_here = here(lowering.schedules[f].compute);
    if (compute_here) computed.push_back(f);
    if (!lowering.storages.contains(f) && (compute_here || here(lowering.schedules[f].store) || at_root(f)))
      stored.push_back(f);
  }
  if (computed.empty() && stored.empty()) return;
  Needs needs(lowering, site, from, earlier);
  for (const std::uint32_t f : stored) {
    const bool now = std::ranges::find(computed, f) != computed.end();
    if (!now) allocate(lowering, f, needs.region(f), folds_of_sliding(lowering, site, from, f));
  }
  while (!computed.empty()) {
    Group group;
    for (const std::uint32_t f : sharing_loops(lowering.algorithm, lowering.schedules, computed.front()))
      if (std::ranges::find(computed, f) != computed.end()) group.push_back(f);
    std::erase_if(computed, [&](std::uint32_t f) { return std::ranges::find(group, f) != group.end(); });

    const SourceLocation where = std::exchange(lowering.write.where, lowering.function(group[0]).where);
    const auto by_block = [&](std::uint32_t f) {
      return lowering.kernel.open && lowering.open.threads && shared_here(lowering, f);
    };
    if (!std::ranges::any_of(group, by_block)) {
      compute_here(lowering, group, needs);
    } else if (std::ranges::all_of(group, by_block)) {
      together(lowering, group, needs);
    } else {
      throw UserError(lowering.schedules[group[0]].compute.where,
                      fmt::format("{} share loops, and some of them are in shared memory, which the threads of the "
                                  "block fill together, and others are kept by each thread; store all of them in "
                                  "shared memory, or none",
                                  names_of(lowering, group)));
    }
    for (const std::uint32_t f : group) {
      // Until the enclosing scope ends.
      lowering.nest.open_heading({"consume " + lowering.function(f).name, lowering.function(f).name});
      lowering.storages.at(f).computed = true;
    }
    if (group.size() > 1) needs.forget();
    lowering.write.where = where;
  }
}

}  // namespace samite::schedules
