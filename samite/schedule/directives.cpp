#include "samite/schedule/directives.h"

#include "samite/base/error.h"
#include "samite/schedule/compute_with.h"
#include "samite/schedule/forms.h"
#include "samite/schedule/nest.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>
#include <set>
#include <span>
#include <tuple>

namespace samite::schedules {
namespace {

using DirectiveKind = ir::Directive::Kind;

std::string said_at(SourceLocation where) { return where.known() ? fmt::format(" ({})", where.to_string()) : ""; }

bool about_storage(DirectiveKind kind) {
  switch (kind) {
    case DirectiveKind::store_root:
    case DirectiveKind::store_at:
    case DirectiveKind::store_in:
    case DirectiveKind::reorder_storage:
    case DirectiveKind::pad:
    case DirectiveKind::fold_storage: return true;
    default: return false;
  }
}

class Scheduler {
 public:
  explicit Scheduler(const Algorithm &algorithm) : algorithm_(algorithm) {
    for (const Function &function : algorithm.functions) made_.push_back(unscheduled(function));
  }

  // The directive of this number.
  void apply(const ir::Directive &directive, std::size_t number) {
    if (directive.func >= made_.size()) return;  // of a Func that is never called
    const Function &function = algorithm_.functions[directive.func];
    if (directive.definition >= function.definitions.size())
      throw UserError(directive.where,
                      fmt::format("'{}' has {} update definition{}, and update({}) is asked for", function.name,
                                  function.definitions.size() - 1, function.definitions.size() == 2 ? "" : "s",
                                  directive.definition - 1));
    if (is_about_loops(directive.kind) || about_storage(directive.kind)) said_.emplace(directive.func, directive);
    if (about_storage(directive.kind))
      storage_said_.insert_or_assign({directive.func, directive.kind}, directive.where);
    switch (directive.kind) {
      case DirectiveKind::split: return split(directive);
      case DirectiveKind::fuse: return fuse(directive);
      case DirectiveKind::rename: return rename(directive);
      case DirectiveKind::reorder: return reorder(directive);
      case DirectiveKind::serial: return set_type(directive, LoopType::serial);
      case DirectiveKind::unroll: return set_type(directive, LoopType::unrolled);
      case DirectiveKind::vectorize: return set_type(directive, LoopType::vectorized);
      case DirectiveKind::parallel: return set_type(directive, LoopType::parallel);
      case DirectiveKind::gpu_block: return set_type(directive, LoopType::gpu_block);
      case DirectiveKind::gpu_thread: return set_type(directive, LoopType::gpu_thread);
      case DirectiveKind::compute_inline: return compute_inline(directive);
      case DirectiveKind::compute_root: return place(directive, true, {Place::Level::root, 0, {}, directive.where});
      case DirectiveKind::store_root: return place(directive, false, {Place::Level::root, 0, {}, directive.where});
      case DirectiveKind::compute_at: return place(directive, true, at(directive));
      case DirectiveKind::store_at: return place(directive, false, at(directive));
      case DirectiveKind::store_in:
        of(directive).space = directive.space;
        of(directive).space_where = directive.where;
        return;
      case DirectiveKind::reorder_storage: return reorder_storage(directive);
      case DirectiveKind::pad: of(directive).pads[dimension(directive)] = directive.numbers.at(0); return;
      case DirectiveKind::fold_storage: of(directive).folds[dimension(directive)] = directive.numbers.at(0); return;
      case DirectiveKind::bound:
        of(directive).bounds[dimension(directive)] = {directive.numbers.at(0), directive.numbers.at(1)};
        return;
      case DirectiveKind::align_bounds:
        of(directive).alignments[dimension(directive)] = directive.numbers.at(0);
        return;
      case DirectiveKind::atomic: of_definition(directive).atomic = true; return;
      case DirectiveKind::allow_race_conditions: of_definition(directive).unordered = true; return;
      case DirectiveKind::pipelined:
        of_definition(directive).stages = static_cast<int>(directive.numbers.at(0));
        of_definition(directive).stages_where = directive.where;
        return;
      case DirectiveKind::specialize: return specialize(directive, number);
      case DirectiveKind::compute_with: return compute_with(directive);
      case DirectiveKind::rfactor:
      case DirectiveKind::in:
      case DirectiveKind::clone_in: throw InternalError("functions of the schedule are not defined before its loops");
    }
  }

  const DefinitionSchedule &loops(std::uint32_t f, std::uint32_t definition) const {
    return made_[f].definitions[definition];
  }

  Place::Level level(std::uint32_t f) const { return made_[f].compute.level; }

  std::vector<FunctionSchedule> finish() {
    for (std::uint32_t f = 0; f < made_.size(); ++f) check(f);
    check_shared_loops(algorithm_, made_);
    return std::move(made_);
  }

 private:
  static FunctionSchedule unscheduled(const Function &function) {
    FunctionSchedule made;
    const bool can_inline = function.definitions.size() == 1 && !function.output;
    made.compute.level = can_inline                  ? Place::Level::inlined
                         : function.inline_reduction ? Place::Level::innermost
                                                     : Place::Level::root;
    made.compute.where = function.where;
    made.store = made.compute;
    for (int d = function.rank() - 1; d >= 0; --d) made.storage_order.push_back(d);
    for (const Definition &definition : function.definitions) {
      DefinitionSchedule of;
      for (const auto &pure : definition.pure) of.roots.push_back(pure ? pure->name : std::string());
      for (const auto &pure : definition.pure)
        if (pure) of.loops.push_back({pure->name, LoopType::serial, definition.where});
      for (const ReductionVariable &reduction : definition.reductions) {
        of.roots.push_back(reduction.variable.name);
        of.loops.push_back({reduction.variable.name, LoopType::serial, definition.where});
      }
      made.definitions.push_back(std::move(of));
    }
    return made;
  }

  FunctionSchedule &of(const ir::Directive &directive) { return made_[directive.func]; }
  DefinitionSchedule &of_definition(const ir::Directive &directive) {
    DefinitionSchedule *schedule = &made_[directive.func].definitions[directive.definition];
    if (directive.specialization)
      for (const std::size_t i : specializations_.at(*directive.specialization))
        schedule = &schedule->specializations[i];
    return *schedule;
  }
  std::string described(const ir::Directive &directive) const {
    const std::string &name = algorithm_.functions[directive.func].name;
    const std::string definition = directive.definition == 0
                                       ? fmt::format("'{}'", name)
                                       : fmt::format("update({}) of '{}'", directive.definition - 1, name);
    return directive.specialization ? "the specialization of " + definition : definition;
  }

  void specialize(const ir::Directive &directive, std::size_t number) {
    DefinitionSchedule &schedule = of_definition(directive);
    std::vector<std::size_t> path;
    if (directive.specialization) path = specializations_.at(*directive.specialization);
    path.push_back(schedule.specializations.size());
    specializations_.insert_or_assign(number, std::move(path));
    DefinitionSchedule copy = schedule;
    copy.specializations.clear();
    for (Loop &loop : copy.loops) loop.copied = true;
    copy.condition = static_cast<std::size_t>(directive.numbers.at(0));
    schedule.specializations.push_back(std::move(copy));
  }
  void compute_with(const ir::Directive &directive) {
    DefinitionSchedule &schedule = of_definition(directive);
    if (directive.specialization)
      throw UserError(directive.where,
                      fmt::format("{} is computed with '{}'; loops that are shared have no specializations",
                                  described(directive), algorithm_.functions[directive.other.value()].name));
    if (schedule.leader)
      throw UserError(directive.where,
                      fmt::format("{} is computed with '{}' already, and now with '{}'; say one of them",
                                  described(directive), algorithm_.functions[schedule.leader->function].name,
                                  algorithm_.functions[directive.other.value()].name));
    schedule.leader = {directive.other.value(), directive.other_definition, directive.names.at(0), directive.where};
  }

  static std::string names_of(const std::vector<Loop> &loops) {
    std::vector<std::string> names;
    for (const Loop &loop : loops) names.push_back(loop.name);
    return fmt::format("{}", fmt::join(names, ", "));
  }
  static std::string which_loops(const std::vector<Loop> &loops) {
    if (loops.empty()) return "it has none";
    return "its loops are, from the outermost one: " + names_of(loops);
  }

  std::size_t find(const ir::Directive &directive, const std::string &name) {
    const std::vector<Loop> &loops = of_definition(directive).loops;
    const auto found = std::ranges::find(loops, name, &Loop::name);
    if (found == loops.end())
      throw UserError(directive.where,
                      fmt::format("{} has no loop '{}'; {}", described(directive), name, which_loops(loops)));
    return static_cast<std::size_t>(found - loops.begin());
  }
  void must_be_new(const ir::Directive &directive, const std::string &name) {
    DefinitionSchedule &schedule = of_definition(directive);
    bool taken = std::ranges::find(schedule.loops, name, &Loop::name) != schedule.loops.end() ||
                 std::ranges::find(schedule.roots, name) != schedule.roots.end();
    for (const Relation &relation : schedule.relations)
      taken = taken || name == relation.whole || name == relation.outer || name == relation.inner;
    if (taken)
      throw UserError(directive.where,
                      fmt::format("{} has, or had, a loop '{}' already; give the new loop a name of its own",
                                  described(directive), name));
  }

  void split(const ir::Directive &directive) {
    const std::string &whole = directive.names.at(0);
    std::string outer = directive.names.at(1), inner = directive.names.at(2);
    const std::int64_t factor = directive.numbers.at(0);
    if (factor < 1)
      throw UserError(directive.where,
                      fmt::format("{} is split by {}; a factor is 1 at least", described(directive), factor));
    const std::size_t at = find(directive, whole);
    DefinitionSchedule &schedule = of_definition(directive);
    // A loop that keeps its name is another variable from here on.
    std::string kept = whole;
    if (outer == whole || inner == whole) {
      kept = fmt::format("{}.{}", whole, schedule.relations.size());
      replace_name(schedule, whole, kept);
    }
    if (outer != whole) must_be_new(directive, outer);
    if (inner != whole) must_be_new(directive, inner);
    if (outer == inner)
      throw UserError(directive.where,
                      fmt::format("{} is split into two loops of one name, '{}'; give the inner one another name",
                                  described(directive), outer));
    schedule.relations.push_back({Relation::Kind::split, kept, outer, inner, factor, directive.tail, directive.where});
    const Loop before = schedule.loops[at];
    schedule.loops[at] = {outer, before.type, before.where, before.copied};
    schedule.loops.insert(schedule.loops.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                          {inner, LoopType::serial, directive.where});
  }

  static void replace_name(DefinitionSchedule &schedule, const std::string &from, const std::string &to) {
    for (std::string &root : schedule.roots)
      if (root == from) root = to;
    for (Relation &relation : schedule.relations)
      for (std::string *name : {&relation.whole, &relation.outer, &relation.inner})
        if (*name == from) *name = to;
  }

  void fuse(const ir::Directive &directive) {
    const std::string &outer = directive.names.at(0), &inner = directive.names.at(1), &fused = directive.names.at(2);
    const std::size_t a = find(directive, outer), b = find(directive, inner);
    DefinitionSchedule &schedule = of_definition(directive);
    if (b != a + 1)
      throw UserError(directive.where,
                      fmt::format("'{}' and '{}' of {} are fused and '{}' is not the loop directly inside of '{}'; "
                                  "reorder them first. The loops are, from the outermost one: {}",
                                  outer, inner, described(directive), inner, outer, names_of(schedule.loops)));
    if (fused != outer && fused != inner) must_be_new(directive, fused);
    if (const LoopType of_outer = schedule.loops[a].type, of_inner = schedule.loops[b].type;
        of_inner != LoopType::serial && of_inner != of_outer)
      throw UserError(directive.where,
                      fmt::format("loop '{}' of {} is {}{}, and is fused with '{}', which is {}; fuse them first, "
                                  "and say then what '{}' is",
                                  inner, described(directive), adjective_of(of_inner), said_at(schedule.loops[b].where),
                                  outer, adjective_of(of_outer), fused));
    std::string kept_outer = outer, kept_inner = inner;
    if (fused == outer)
      replace_name(schedule, outer, kept_outer = fmt::format("{}.{}", outer, schedule.relations.size()));
    if (fused == inner)
      replace_name(schedule, inner, kept_inner = fmt::format("{}.{}", inner, schedule.relations.size()));
    schedule.relations.push_back(
        {Relation::Kind::fuse, fused, kept_outer, kept_inner, 1, ir::Tail::automatic, directive.where});
    schedule.loops[a] = {fused, schedule.loops[a].type, directive.where, schedule.loops[a].copied};
    schedule.loops.erase(schedule.loops.begin() + static_cast<std::ptrdiff_t>(b));
  }

  void rename(const ir::Directive &directive) {
    const std::size_t at = find(directive, directive.names.at(0));
    must_be_new(directive, directive.names.at(1));
    DefinitionSchedule &schedule = of_definition(directive);
    schedule.relations.push_back(
        {Relation::Kind::rename, directive.names[0], directive.names[1], "", 1, ir::Tail::automatic, directive.where});
    schedule.loops[at].name = directive.names[1];
  }

  // The innermost one first; unnamed loops keep their positions.
  void reorder(const ir::Directive &directive) {
    DefinitionSchedule &schedule = of_definition(directive);
    std::vector<std::size_t> places;
    for (const std::string &name : directive.names) {
      const std::size_t at = find(directive, name);
      if (std::ranges::find(places, at) != places.end())
        throw UserError(directive.where,
                        fmt::format("reorder names '{}' of {} twice; name each loop once", name, described(directive)));
      places.push_back(at);
    }
    std::vector<Loop> wanted;
    for (const std::size_t place : places) wanted.push_back(schedule.loops[place]);
    std::ranges::sort(places, std::greater<>());
    for (std::size_t i = 0; i < places.size(); ++i) schedule.loops[places[i]] = wanted[i];
  }

  void set_type(const ir::Directive &directive, LoopType type) {
    for (const std::string &name : directive.names) {
      const std::size_t at = find(directive, name);
      Loop &loop = of_definition(directive).loops[at];
      if (loop.type != type && loop.type != LoopType::serial && type != LoopType::serial && !loop.copied)
        throw UserError(
            directive.where,
            fmt::format("loop '{0}' of {1} is {2}{3}, and now {4}; a loop is one of them: split '{0}', "
                        "and say it of the two loops",
                        name, described(directive), adjective_of(loop.type), said_at(loop.where), adjective_of(type)));
      loop = {name, type, directive.where};
    }
  }

  void compute_inline(const ir::Directive &directive) {
    const Function &function = algorithm_.functions[directive.func];
    if (function.output)
      throw UserError(directive.where,
                      fmt::format("'{}' fills an array, and cannot be inlined; leave it at the root", function.name));
    if (function.definitions.size() > 1)
      throw UserError(directive.where,
                      fmt::format("'{}' has updates, and cannot be inlined; compute it at a loop of what calls it: "
                                  "{}.compute_at(caller, loop)",
                                  function.name, function.name));
    place(directive, true, {Place::Level::inlined, 0, {}, directive.where});
  }

  Place at(const ir::Directive &directive) const {
    const std::uint32_t other = directive.other.value();
    const Function &function = algorithm_.functions[directive.func];
    if (other == directive.func)
      throw UserError(directive.where, fmt::format("'{0}' is computed at a loop of '{0}' itself; name the Func that "
                                                   "calls it",
                                                   function.name));
    return {Place::Level::at, other, directive.names.at(0), directive.where};
  }

  void place(const ir::Directive &directive, bool compute, const Place &place) {
    const Function &function = algorithm_.functions[directive.func];
    if (function.output && place.level == Place::Level::at)
      throw UserError(directive.where,
                      fmt::format("'{}' fills an array of the caller's, and is computed at the root; leave it there",
                                  function.name));
    FunctionSchedule &schedule = of(directive);
    if (compute) {
      schedule.compute = place;
      if (!stored_.contains(directive.func)) schedule.store = place;
    } else {
      schedule.store = place;
      stored_.insert(directive.func);
    }
  }

  int dimension(const ir::Directive &directive) const { return dimension_named(directive, directive.names.at(0)); }
  int dimension_named(const ir::Directive &directive, const std::string &name) const {
    const Function &function = algorithm_.functions[directive.func];
    const Definition &pure = function.definitions[0];
    std::vector<std::string> names;
    for (std::size_t d = 0; d < pure.pure.size(); ++d) {
      if (pure.pure[d]->name == name) return static_cast<int>(d);
      names.push_back(pure.pure[d]->name);
    }
    throw UserError(directive.where,
                    fmt::format("'{}' has no dimension '{}'; {}", function.name, name,
                                names.empty() ? std::string("it has none")
                                              : fmt::format("its dimensions are: {}", fmt::join(names, ", "))));
  }

  void reorder_storage(const ir::Directive &directive) {
    std::vector<int> order;
    for (const std::string &name : directive.names) {
      const int d = dimension_named(directive, name);
      if (std::ranges::find(order, d) != order.end())
        throw UserError(directive.where,
                        fmt::format("reorder_storage names '{}' twice; name each dimension once", name));
      order.push_back(d);
    }
    const Function &function = algorithm_.functions[directive.func];
    if (static_cast<int>(order.size()) != function.rank())
      throw UserError(directive.where,
                      fmt::format("reorder_storage names {} of the {} dimensions of '{}'; name all, the innermost one "
                                  "first",
                                  order.size(), function.rank(), function.name));
    of(directive).storage_order = order;
  }

  void check(std::uint32_t f) {
    FunctionSchedule &schedule = made_[f];
    check_level(f);
    for (std::size_t d = 0; d < schedule.definitions.size(); ++d) check_definition(f, d, schedule.definitions[d]);
    if (schedule.compute.level == Place::Level::at) check_place(f, schedule.compute, "computed");
    if (schedule.store.level == Place::Level::at) check_place(f, schedule.store, "kept");
    check_store(f);
    check_storage(f);
    check_pipelined(f);
  }

  // Each iteration of a serial loop has its own buffer of shared memory.
  void check_pipelined(std::uint32_t f) const {
    const FunctionSchedule &schedule = made_[f];
    const std::string &name = algorithm_.functions[f].name;
    for (std::size_t d = 1; d < schedule.definitions.size(); ++d)
      if (const DefinitionSchedule &update = schedule.definitions[d]; update.stages > 1)
        throw UserError(update.stages_where,
                        fmt::format("update({}) of '{}' is pipelined({}), which is about the memory of a Func, and not "
                                    "about one of its definitions; say it of the Func: {}.pipelined({})",
                                    d - 1, name, update.stages, name, update.stages));
    const DefinitionSchedule &all = schedule.definitions[0];
    if (all.stages == 1) return;
    const auto refuse = [&](const std::string &because) {
      throw UserError(all.stages_where, fmt::format("'{}' is pipelined({}), and {}", name, all.stages, because));
    };
    constexpr int most_stages = 8;
    if (all.stages > most_stages) refuse(fmt::format("memory has {} buffers at most; give fewer", most_stages));
    if (schedule.space != ir::MemorySpace::shared)
      refuse(
          fmt::format("is not in shared memory, which is what can be filled ahead; say "
                      "{}.store_in(Memory::shared), or leave pipelined out",
                      name));
    if (schedule.compute.level != Place::Level::at) return;  // shared memory was refused for others
    const Place &place = schedule.compute, &store = schedule.store;
    if (store.level != place.level || store.function != place.function || store.loop != place.loop)
      refuse(
          "is kept outside of the loop where it is computed: each iteration of that loop has a buffer of its own; "
          "leave store_at out");
    for (const DefinitionSchedule &of : made_[place.function].definitions)
      for (const Loop &loop : of.loops) {
        if (loop.name != place.loop || loop.type == LoopType::serial) continue;
        refuse(
            fmt::format("is computed at the loop '{}' of '{}', whose iterations do not follow each other in time; "
                        "compute it at a serial loop inside of the blocks",
                        place.loop, algorithm_.functions[place.function].name));
      }
  }

  // Inlined functions have no loops and no memory; functions at the root are in device memory.
  void check_level(std::uint32_t f) const {
    const Function &function = algorithm_.functions[f];
    const FunctionSchedule &schedule = made_[f];
    const Place::Level level = schedule.compute.level;
    if (const auto said = said_.find(f); level == Place::Level::inlined && said != said_.end() && is_called(f))
      throw UserError(
          said->second.where,
          fmt::format("'{0}' is inlined where it is called, and {1}; say {0}.compute_root() or "
                      "{0}.compute_at(caller, loop)",
                      function.name, is_about_loops(said->second.kind) ? "has no loops" : "is kept nowhere"));
    if (level == Place::Level::root && schedule.space && *schedule.space != ir::MemorySpace::device)
      throw UserError(
          schedule.space_where,
          fmt::format(
              "'{0}' is computed at the root, and is to be in {1}; {2}", function.name,
              *schedule.space == ir::MemorySpace::shared ? "shared memory, which a block has" : "a thread's own memory",
              function.output
                  ? "what fills an array is kept in that array"
                  : fmt::format("compute it at a loop of what calls it: {}.compute_at(caller, loop)", function.name)));
  }

  // Directives about memory without an effect.
  void check_storage(std::uint32_t f) const {
    const Function &function = algorithm_.functions[f];
    const FunctionSchedule &schedule = made_[f];
    const auto refuse = [&](DirectiveKind kind, const std::string &what) {
      const auto said = storage_said_.find({f, kind});
      if (said != storage_said_.end()) throw UserError(said->second, fmt::format("'{}' {}", function.name, what));
    };
    if (function.output) {
      const std::string array = fmt::format("fills the array '{}', and is kept as the caller has made that",
                                            algorithm_.parameters[*function.output].name);
      refuse(DirectiveKind::reorder_storage,
             array +
                 "; give a view with its dimensions in another order, or reorder the storage of a Func that this "
                 "one copies");
      refuse(DirectiveKind::pad, array + "; give a view of a larger array");
      refuse(DirectiveKind::fold_storage, array + ", whose elements are all kept; leave fold_storage out");
    }
    if (schedule.compute.level == Place::Level::root)
      refuse(
          DirectiveKind::fold_storage,
          fmt::format("is computed at the root, whole, so that all of its elements are kept; compute it at a loop of "
                      "what calls it, and store it outside of that loop: {0}.compute_at(caller, loop).store_root(), "
                      "or leave fold_storage out",
                      function.name));
    else if (schedule.compute.level == Place::Level::at && schedule.store == schedule.compute)
      refuse(DirectiveKind::fold_storage,
             fmt::format("is kept at the loop '{1}' where it is computed, from one iteration to its end, so that there "
                         "is nothing to fold; store it outside of that loop: {0}.store_at(caller, outer_loop) or "
                         "{0}.store_root(), or leave fold_storage out",
                         function.name, schedule.compute.loop));
  }

  bool is_called(std::uint32_t f) const {
    return std::ranges::any_of(algorithm_.functions, [&](const Function &function) {
      return std::ranges::any_of(function.definitions, [&](const Definition &definition) {
        return std::ranges::count(called_by(algorithm_, definition), f) != 0;
      });
    });
  }

  // A function's storage is at its compute loop, or outside of it.
  void check_store(std::uint32_t f) const {
    const Place &store = made_[f].store;
    if (store.level != Place::Level::at) return;
    // Outwards from the compute loop.
    Place compute = made_[f].compute;
    while (compute.level == Place::Level::at && compute.function != store.function)
      compute = made_[compute.function].compute;
    bool around = false;
    if (compute.level == Place::Level::at)
      for (const DefinitionSchedule &of : made_[store.function].definitions) {
        const Loop *outer = of.loop(store.loop), *inner = of.loop(compute.loop);
        around = around || (outer && inner && outer <= inner);
      }
    if (!around)
      throw UserError(store.where,
                      fmt::format("'{}' is kept at the loop '{}' of '{}', which is not around the place where it is "
                                  "computed; store it at the loop where it is computed, or at one outside of that",
                                  algorithm_.functions[f].name, store.loop, algorithm_.functions[store.function].name));
  }

  void check_definition(std::uint32_t f, std::size_t d, DefinitionSchedule &of) const {
    const Function &function = algorithm_.functions[f];
    const Definition &definition = function.definitions[d];
    check_nesting(function, of);
    for (const Loop &loop : of.loops) {
      if (loop.type == LoopType::serial || loop.type == LoopType::unrolled) continue;
      if (of.unordered) continue;
      const std::set<std::string> names = of.made_of(loop.name);
      for (std::size_t r = 0; r < definition.reductions.size(); ++r) {
        if (!names.contains(of.roots[definition.pure.size() + r]) || !races(definition, r, f)) continue;
        if (!of.atomic)
          throw UserError(
              loop.where,
              fmt::format("loop '{}' of '{}' goes through the reduction variable '{}' in any order, and several of "
                          "its iterations may update one element; say update().atomic(), or keep that loop serial, or "
                          "go through partial results: update().rfactor(loop, variable); where none of them do, say "
                          "update().allow_race_conditions()",
                          loop.name, function.name, definition.reductions[r].variable.name));
        if (loop.type == LoopType::gpu_thread || loop.type == LoopType::vectorized) of.meeting = loop;
      }
    }
    if (d > 0) check_order(f, d, of);
    for (const Relation &relation : of.relations) {
      if (relation.kind != Relation::Kind::split) continue;
      if (relation.tail == ir::Tail::shift_inwards && d > 0 && !may_be_done_twice(f, d, of, relation))
        throw UserError(relation.where,
                        fmt::format("an update of '{}' is split with a tail shifted inwards, which would update some "
                                    "elements twice; use Tail::guard, or Tail::shift_inwards_and_blend, which stores "
                                    "those once",
                                    function.name));
      if (relation.tail == ir::Tail::predicate_loads || relation.tail == ir::Tail::predicate_stores)
        check_goes_beyond(f, d, of, relation);
    }
    for (DefinitionSchedule &special : of.specializations) check_definition(f, d, special);
  }

  // A tail that loads or stores beyond the extent is one of a dimension, whose elements there are nobody's.
  void check_goes_beyond(std::uint32_t f, std::size_t d, const DefinitionSchedule &of, const Relation &split) const {
    const Definition &definition = algorithm_.functions[f].definitions[d];
    const bool loads = split.tail == ir::Tail::predicate_stores;
    const auto refuse = [&](const std::string &why) {
      throw UserError(split.where,
                      fmt::format("loop '{}' of '{}' is split with Tail::{}, which {} beyond its end, {}; use "
                                  "Tail::predicate, which does neither",
                                  split.whole, algorithm_.functions[f].name,
                                  loads ? "predicate_stores" : "predicate_loads", loads ? "loads" : "stores", why));
    };
    const std::set<std::string> names = of.made_of(split.whole);
    for (std::size_t r = 0; r < definition.reductions.size(); ++r)
      if (names.contains(of.roots[definition.pure.size() + r]))
        refuse(fmt::format("and it goes through the Reduction variable '{}', which has nothing there",
                           definition.reductions[r].variable.name));
    std::string root = split.whole;
    for (const Relation &relation : std::views::reverse(std::span(of.relations.data(), &split))) {
      if (relation.kind == Relation::Kind::fuse ? relation.whole == root : relation.inner == root)
        refuse(relation.kind == Relation::Kind::fuse ? "and it is made of two loops, whose next elements are there"
                                                     : "and it is a piece of another loop, whose next piece is there");
      if (relation.kind != Relation::Kind::fuse && relation.outer == root) root = relation.whole;
    }
    const auto dimension = static_cast<std::size_t>(std::ranges::find(of.roots, root) - of.roots.begin());
    for (std::size_t n = 0; n < made_[f].definitions.size() && !loads; ++n)
      if (rounds_up(made_[f].definitions[n], made_[f].definitions[n].roots[dimension]))
        refuse("and another split rounds the dimension up and loads for all of it");
  }
  static bool rounds_up(const DefinitionSchedule &of, const std::string &root) {
    return !root.empty() && (has_tail(of, root, ir::Tail::round_up) ||
                             std::ranges::any_of(of.specializations, [&](const DefinitionSchedule &special) {
                               return rounds_up(special, root);
                             }));
  }

  // An element gets the same value again where each of its values is made of what stays as it was before the update, or
  // of what an earlier iteration has stored.
  bool may_be_done_twice(std::uint32_t f, std::size_t d, const DefinitionSchedule &of, const Relation &split) const {
    const Function &function = algorithm_.functions[f];
    const Definition &definition = function.definitions[d];
    const auto is_index = [&](const ReductionVariable &reduction) {
      return place_of(definition, reduction).has_value();
    };
    // Else another iteration may have stored to the element in between.
    const std::set<std::string> names = of.made_of(split.whole);
    for (std::size_t r = 0; r < definition.reductions.size(); ++r)
      if (names.contains(of.roots[definition.pure.size() + r]) && !is_index(definition.reductions[r])) return false;
    const Forms forms(definition.body);
    for (const ir::Stmt &stmt : definition.body) {
      const ir::Operation &load = stmt.as<ir::Let>()->value;
      if (load.op != ir::Op::Load || load.array < function.array ||
          load.array >= function.array + function.types.size())
        continue;
      if (!stays(definition, forms, load) && (!in_order(of, split) || !is_earlier(definition, forms, load)))
        return false;
    }
    return true;
  }

  // Whether the pieces follow each other: else one may read what another one is storing.
  static bool in_order(const DefinitionSchedule &of, const Relation &split) {
    return !of.unordered && std::ranges::none_of(of.loops, [&](const Loop &loop) {
      return loop.type != LoopType::serial && loop.type != LoopType::unrolled &&
             of.made_of(loop.name).contains(split.outer);
    });
  }

  // The dimension whose index the variable is.
  static std::optional<std::size_t> place_of(const Definition &definition, const ReductionVariable &reduction) {
    for (std::size_t i = 0; i < definition.indices.size(); ++i)
      if (definition.indices[i].is_local() && definition.indices[i].id() == reduction.variable.local) return i;
    return std::nullopt;
  }

  // Whether a load is of an element that the update never stores: in one dimension it has another number.
  static bool stays(const Definition &definition, const Forms &forms, const ir::Operation &load) {
    for (std::size_t i = 0; i < load.operands.size(); ++i) {
      const passes::Affine stored = forms.form(definition.indices[i]), loaded = forms.form(load.operands[i]);
      bool fixed = stored.known() && loaded.known();
      for (const passes::Affine *form : {&stored, &loaded})
        form->for_each_symbol(
            [&](const passes::Symbol &symbol) { fixed = fixed && symbol.kind != passes::Symbol::Kind::Local; });
      if (!fixed) continue;
      const passes::Affine distance = stored - loaded;
      if (distance.is_constant() && distance.constant() != 0) return true;
    }
    return false;
  }

  // Whether a load is of an element that an earlier iteration of the reduction has stored, or none: each of the
  // reduction's variables is an index, so that one iteration stores an element, and the outermost one that differs is
  // less.
  static bool is_earlier(const Definition &definition, const Forms &forms, const ir::Operation &load) {
    const auto is_index = [&](const ReductionVariable &reduction) {
      return place_of(definition, reduction).has_value();
    };
    if (!std::ranges::all_of(definition.reductions, is_index)) return false;
    for (const ReductionVariable &reduction : definition.reductions) {
      const std::size_t place = *place_of(definition, reduction);
      const passes::Affine distance = forms.form(definition.indices[place]) - forms.form(load.operands[place]);
      if (!distance.is_constant() || distance.constant() < 0) return false;
      if (distance.constant() > 0) return true;
    }
    return false;
  }

  // An update other than a sum, minimum or maximum runs its reductions in order: only reductions with several
  // iterations at an element matter.
  void check_order(std::uint32_t f, std::size_t d, const DefinitionSchedule &of) const {
    const Function &function = algorithm_.functions[f];
    const Definition &definition = function.definitions[d];
    if (of.unordered || in_any_order(f, d)) return;
    std::vector<std::string> order;
    for (std::size_t r = 0; r < definition.reductions.size(); ++r)
      if (races(definition, r, f)) order.push_back(of.roots[definition.pure.size() + r]);
    const auto refuse = [&](SourceLocation where) {
      throw UserError(
          where, fmt::format("the schedule changes the order in which update({}) of '{}' goes through its reduction, "
                             "and the update is no sum, min or max of the element and a value: its result depends on "
                             "the order: leave the loops over its reduction in theirs",
                             d - 1, function.name));
    };
    for (const Relation &relation : of.relations) {
      const auto outer = std::ranges::find(order, relation.outer), inner = std::ranges::find(order, relation.inner);
      if (relation.kind == Relation::Kind::fuse) {
        if (outer != order.end() && inner != order.end()) {
          if (inner != outer + 1) refuse(relation.where);
          *outer = relation.whole;
          order.erase(inner);
        } else if (outer != order.end() || inner != order.end()) {
          *(outer != order.end() ? outer : inner) = relation.whole;
        }
      } else if (const auto whole = std::ranges::find(order, relation.whole); whole != order.end()) {
        *whole = relation.outer;
        if (relation.kind == Relation::Kind::split) order.insert(whole + 1, relation.inner);
      }
    }
    std::size_t next = 0;
    for (const Loop &loop : of.loops) {
      const auto found = std::ranges::find(order, loop.name);
      if (found == order.end()) continue;
      if (found != order.begin() + static_cast<std::ptrdiff_t>(next)) refuse(loop.where);
      ++next;
    }
    if (of.atomic)
      for (const Loop &loop : of.loops)
        if (loop.type != LoopType::serial && loop.type != LoopType::unrolled &&
            std::ranges::find(order, loop.name) != order.end())
          throw UserError(
              definition.where,
              fmt::format("an update of '{0}' is atomic, and is no {0}(…) += value, min or max of itself and "
                          "a value; other updates have no atomic step: keep its loops serial, without atomic()",
                          function.name));
  }

  // Whether each value is the sum, minimum or maximum of the element and an operand that does not depend on the Func.
  bool in_any_order(std::uint32_t f, std::size_t d) const {
    const Function &function = algorithm_.functions[f];
    const Definition &definition = function.definitions[d];
    std::map<ir::LocalId, int> uses;
    const auto use = [&](const ir::Value &value) {
      if (value.is_local()) ++uses[value.id()];
    };
    std::map<ir::LocalId, const ir::Operation *> made;
    for (const ir::Stmt &stmt : definition.body) {
      const ir::Let *let = stmt.as<ir::Let>();
      made[let->local] = &let->value;
      for (const ir::Value &operand : let->value.operands) use(operand);
    }
    for (const ir::Value &value : definition.values) use(value);
    for (const ir::Value &value : definition.indices) use(value);
    if (definition.predicate) use(*definition.predicate);

    std::size_t combined = 0, own = 0;
    for (std::size_t v = 0; v < definition.values.size(); ++v) {
      const auto value = definition.values[v].is_local() ? made.find(definition.values[v].id()) : made.end();
      if (value == made.end() || uses[value->first] != 1) return false;
      const ir::Operation &of = *value->second;
      if (of.op != ir::Op::Add && of.op != ir::Op::Sub && of.op != ir::Op::Min && of.op != ir::Op::Max) return false;
      for (std::size_t i = 0; i < (of.op == ir::Op::Sub ? 1u : 2u); ++i) {
        const auto load = of.operands[i].is_local() ? made.find(of.operands[i].id()) : made.end();
        if (load == made.end() || uses[load->first] != 1 || load->second->op != ir::Op::Load ||
            load->second->array != function.array + v || load->second->operands != definition.indices)
          continue;
        ++combined;
        break;
      }
    }
    for (const auto &[local, operation] : made)
      if (operation->op == ir::Op::Load && operation->array >= function.array &&
          operation->array < function.array + function.types.size())
        ++own;
    return combined == definition.values.size() && own == combined;
  }

  // Different values of a reduction variable that is an index itself are different elements.
  bool races(const Definition &definition, std::size_t reduction, std::uint32_t f) const {
    const ir::LocalId local = definition.reductions[reduction].variable.local;
    bool index = false;
    for (const ir::Value &value : definition.indices) index = index || (value.is_local() && value.id() == local);
    if (!index) return true;
    const Function &function = algorithm_.functions[f];
    for (const ir::Stmt &stmt : definition.body) {
      const ir::Let *let = stmt.as<ir::Let>();
      if (!let || let->value.op != ir::Op::Load || let->value.array < function.array ||
          let->value.array >= function.array + function.types.size())
        continue;
      if (let->value.operands != definition.indices) return true;
    }
    return false;
  }

  void check_nesting(const Function &function, const DefinitionSchedule &schedule) const {
    int threads = 0;
    const Loop *thread = nullptr, *inner = nullptr, *block = nullptr, *between = nullptr;
    for (const Loop &loop : schedule.loops) {
      if (loop.type == LoopType::gpu_block && between)
        throw UserError(loop.where,
                        fmt::format("loop '{}' of '{}' is between loops of blocks, '{}' and '{}'; reorder them so that "
                                    "the loops of blocks are directly inside of each other",
                                    between->name, function.name, block->name, loop.name));
      if (loop.type == LoopType::gpu_block)
        block = &loop;
      else if (block)
        between = &loop;
      if (loop.type == LoopType::gpu_thread) {
        ++threads;
        thread = &loop;
      }
      const bool launches = loop.type == LoopType::gpu_block || loop.type == LoopType::parallel;
      if (launches && thread)
        throw UserError(loop.where,
                        fmt::format("loop '{}' of '{}' is one of blocks, inside of '{}', which is one of threads; "
                                    "reorder them: blocks are outside",
                                    loop.name, function.name, thread->name));
      if (launches && inner)
        throw UserError(loop.where, fmt::format("loop '{}' of '{}' is parallel inside of '{}', which is {}; reorder "
                                                "them",
                                                loop.name, function.name, inner->name,
                                                inner->type == LoopType::vectorized ? "vectorized" : "unrolled"));
      if (loop.type == LoopType::vectorized || loop.type == LoopType::unrolled) inner = &loop;
    }
    if (threads > 3)
      throw UserError(thread->where,
                      fmt::format("'{}' has {} loops of threads; a block has three dimensions: fuse some of them",
                                  function.name, threads));
  }

  void check_place(std::uint32_t f, const Place &place, const char *what) const {
    const Function &function = algorithm_.functions[f], &other = algorithm_.functions[place.function];
    bool has_loop = false;
    std::vector<std::string> names;
    for (const DefinitionSchedule &of : made_[place.function].definitions) {
      has_loop = has_loop || of.loop(place.loop);
      for (const Loop &loop : of.loops)
        if (std::ranges::find(names, loop.name) == names.end()) names.push_back(loop.name);
    }
    if (!has_loop)
      throw UserError(
          place.where,
          fmt::format("'{}' is {} at the loop '{}' of '{}', which has no such loop; it has: {}", function.name, what,
                      place.loop, other.name, names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
    if (made_[place.function].compute.level == Place::Level::inlined)
      throw UserError(place.where, fmt::format("'{0}' is {1} at a loop of '{2}', which is inlined and has no loops; "
                                               "compute '{2}' somewhere first",
                                               function.name, what, other.name));
  }

  const Algorithm &algorithm_;
  std::vector<FunctionSchedule> made_;
  std::set<std::uint32_t> stored_;  // with a given place in memory
  // By function: the first directive about its loops, or about its memory.
  std::map<std::uint32_t, ir::Directive> said_;
  // By function and kind: the last directive about its memory.
  std::map<std::pair<std::uint32_t, DirectiveKind>, SourceLocation> storage_said_;
  // By the number of its directive: the path of specializations.
  std::map<std::size_t, std::vector<std::size_t>> specializations_;
};

}  // namespace

const char *adjective_of(LoopType type) {
  switch (type) {
    case LoopType::serial: return "serial";
    case LoopType::unrolled: return "unrolled";
    case LoopType::vectorized: return "vectorized";
    case LoopType::parallel: return "parallel";
    case LoopType::gpu_block: return "one of blocks";
    case LoopType::gpu_thread: return "one of threads";
  }
  return "";
}

const Loop *DefinitionSchedule::loop(const std::string &name) const {
  const auto found = std::ranges::find(loops, name, &Loop::name);
  return found == loops.end() ? nullptr : &*found;
}

std::set<std::string> DefinitionSchedule::made_of(const std::string &loop) const {
  std::set<std::string> names{loop};
  for (const auto &relation : std::views::reverse(relations)) {
    switch (relation.kind) {
      case Relation::Kind::split:
        if (names.contains(relation.outer) || names.contains(relation.inner)) names.insert(relation.whole);
        break;
      case Relation::Kind::fuse:
        if (names.contains(relation.whole)) names.insert({relation.outer, relation.inner});
        break;
      case Relation::Kind::rename:
        if (names.contains(relation.outer)) names.insert(relation.whole);
        break;
    }
  }
  return names;
}

bool is_about_loops(DirectiveKind kind) {
  switch (kind) {
    case DirectiveKind::split:
    case DirectiveKind::fuse:
    case DirectiveKind::reorder:
    case DirectiveKind::rename:
    case DirectiveKind::serial:
    case DirectiveKind::unroll:
    case DirectiveKind::vectorize:
    case DirectiveKind::parallel:
    case DirectiveKind::gpu_block:
    case DirectiveKind::gpu_thread: return true;
    default: return false;
  }
}

DefinitionSchedule loops_of(const Algorithm &algorithm, const std::vector<ir::Directive> &directives,
                            std::uint32_t function, std::uint32_t definition) {
  Scheduler scheduler(algorithm);
  for (const ir::Directive &directive : directives)
    if (directive.func == function && directive.definition == definition && !directive.specialization &&
        is_about_loops(directive.kind))
      scheduler.apply(directive, 0);
  return scheduler.loops(function, definition);
}

namespace {

// A thread for each element on a GPU; tasks and vectors on the CPU, for the loops of `about`. A loop that the schedule
// names as a place stays serial, and so do those around it: later iterations reuse storage outside of it. Inside it,
// the CPU has vectors.
void add_default_loops(const Function &function, const ir::Directive &about, const std::set<std::string> &places,
                       bool gpu, std::vector<ir::Directive> &directives) {
  std::vector<std::string> pure;
  const Definition &definition = function.definitions[about.definition];
  for (const auto &variable : definition.pure)
    if (variable) pure.push_back(variable->name);
  if (pure.empty()) return;
  const auto is_place = [&](const std::string &loop) { return places.contains(loop); };
  const bool place_inside = is_place(pure.back()) || std::ranges::any_of(definition.reductions, is_place,
                                                                         [](const auto &r) { return r.variable.name; });
  const bool has_place = place_inside || std::ranges::any_of(pure, is_place);
  if (place_inside || (has_place && gpu)) return;
  const auto direct = [&](DirectiveKind kind, std::vector<std::string> names, std::int64_t factor = 0) {
    ir::Directive directive = about;
    directive.kind = kind;
    directive.names = std::move(names);
    directive.where = function.where;
    if (factor != 0) directive.numbers = {factor};
    directives.push_back(std::move(directive));
  };
  const std::string last = pure.back();
  const auto taken = [&](const std::string &name) {
    return std::ranges::find(pure, name) != pure.end() ||
           std::ranges::any_of(definition.reductions,
                               [&](const ReductionVariable &reduction) { return reduction.variable.name == name; });
  };
  // The names of the directives that split implicitly (lang/schedule.h).
  const auto inner_of = [&](const std::string &name) {
    std::string inner = name + "_i";
    for (int n = 2; taken(inner); ++n) inner = fmt::format("{}_i{}", name, n);
    return inner;
  };
  const std::string inner = inner_of(last);
  if (has_place) {
    direct(DirectiveKind::vectorize, {last});
  } else if (gpu) {
    // 512 elements in a block: a GPU starts about 1.6 blocks in a nanosecond, and smaller ones would be slower than
    // memory.
    std::vector<std::string> threads{inner};
    direct(DirectiveKind::split, {last, last, inner}, pure.size() > 1 ? 64 : 512);
    if (pure.size() > 1) {
      const std::string &rows = pure[pure.size() - 2];
      const std::string row = inner_of(rows);
      direct(DirectiveKind::split, {rows, rows, row}, 8);
      direct(DirectiveKind::reorder, {inner, row, last, rows});
      threads.push_back(row);
    }
    for (const std::string &variable : pure) direct(DirectiveKind::gpu_block, {variable});
    for (const std::string &thread : threads) direct(DirectiveKind::gpu_thread, {thread});
  } else if (pure.size() > 1) {
    direct(DirectiveKind::parallel, {pure.front()});
    direct(DirectiveKind::vectorize, {last});
  } else {
    direct(DirectiveKind::split, {last, last, inner}, 4096);
    direct(DirectiveKind::parallel, {last});
    direct(DirectiveKind::vectorize, {inner});
  }
}

}  // namespace

std::vector<FunctionSchedule> scheduled(const Algorithm &algorithm, const std::vector<ir::Directive> &directives,
                                        bool gpu) {
  Scheduler scheduler(algorithm);
  using Loops =
      std::tuple<std::uint32_t, std::uint32_t, std::optional<std::uint32_t>>;  // of a definition, or of a copy
  std::set<Loops> all, mentioned;
  for (std::uint32_t f = 0; f < algorithm.functions.size(); ++f)
    for (std::uint32_t d = 0; d < algorithm.functions[f].definitions.size(); ++d) all.insert({f, d, std::nullopt});
  std::set<std::uint32_t> inside;
  std::map<std::uint32_t, std::set<std::string>> places;  // loops where others are computed or stored, by function
  for (std::size_t i = 0; i < directives.size(); ++i) {
    const ir::Directive &directive = directives[i];
    scheduler.apply(directive, i);
    const Loops about{directive.func, directive.definition, directive.specialization};
    if (is_about_loops(directive.kind)) mentioned.insert(about);
    if (directive.kind == DirectiveKind::specialize) {
      const Loops copy{directive.func, directive.definition, static_cast<std::uint32_t>(i)};
      all.insert(copy);
      if (mentioned.contains(about)) mentioned.insert(copy);
    }
    if (directive.kind == DirectiveKind::compute_at) inside.insert(directive.func);
    if (directive.kind == DirectiveKind::compute_at || directive.kind == DirectiveKind::store_at)
      places[directive.other.value()].insert(directive.names.at(0));
  }
  // Functions at the root without loops from the user.
  std::vector<ir::Directive> more;
  for (const auto &[f, d, specialization] : all)
    if (!inside.contains(f) && scheduler.level(f) == Place::Level::root && !mentioned.contains({f, d, specialization}))
      add_default_loops(algorithm.functions[f],
                        {.kind = {}, .func = f, .definition = d, .specialization = specialization}, places[f], gpu,
                        more);
  for (std::size_t i = 0; i < more.size(); ++i) scheduler.apply(more[i], directives.size() + i);
  return scheduler.finish();
}

namespace {

// The facts about a function's calls that default_schedule needs.
class Calls {
 public:
  explicit Calls(const Algorithm &algorithm) : algorithm_(algorithm), of_(algorithm.functions.size()) {
    for (std::uint32_t f = 0; f < algorithm.functions.size(); ++f)
      for (const Definition &definition : algorithm.functions[f].definitions) add(f, definition);
  }

  struct Of {
    int count = 0;
    bool repeated = false;   // in a definition with a Reduction
    bool unbounded = false;  // at an index without bounds: the required region is unknown in advance
  };
  const Of &of(std::uint32_t function) const { return of_[function]; }

  // Operations for an element of a definition, including those of inlined callees.
  std::int64_t cost(const Definition &definition, const std::vector<std::int64_t> &inlined) const {
    auto cost = static_cast<std::int64_t>(definition.body.size());
    for (const ir::Stmt &stmt : definition.body)
      if (const auto called = called_by(stmt)) cost += inlined[*called];
    for (const ReductionVariable &reduction : definition.reductions)
      cost *= reduction.extent.is_constant() ? std::clamp<std::int64_t>(reduction.extent.as_int(), 1, 1000) : 100;
    return std::min<std::int64_t>(cost, 1'000'000);
  }

 private:
  std::optional<std::uint32_t> called_by(const ir::Stmt &stmt) const {
    const ir::Let *let = stmt.as<ir::Let>();
    if (!let || let->value.op != ir::Op::Load) return std::nullopt;
    const auto called = algorithm_.function_of(let->value.array);
    return called ? std::optional(called->function) : std::nullopt;
  }

  void add(std::uint32_t caller, const Definition &definition) {
    const Forms forms(definition.body, algorithm_.promises);
    Environment somewhere;
    const auto variable = [&](ir::LocalId local) {
      somewhere.insert_or_assign(local, passes::Interval::of(passes::Symbol::local(local)));
    };
    for (const auto &pure : definition.pure)
      if (pure) variable(pure->local);
    for (const ReductionVariable &reduction : definition.reductions) variable(reduction.variable.local);
    for (const ir::Stmt &stmt : definition.body) {
      const auto called = called_by(stmt);
      if (!called || *called == caller) continue;
      Of &of = of_[*called];
      ++of.count;
      of.repeated = of.repeated || !definition.reductions.empty();
      for (const ir::Value &index : stmt.as<ir::Let>()->value.operands) {
        const passes::Interval interval =
            forms.interval(index, somewhere, [](const passes::Symbol &) { return passes::Range{}; });
        of.unbounded = of.unbounded || !interval.lower.known() || !interval.upper.known();
      }
    }
  }

  const Algorithm &algorithm_;
  std::vector<Of> of_;
};

}  // namespace

std::vector<FunctionSchedule> default_schedule(const Algorithm &algorithm, bool gpu) {
  constexpr std::int64_t cheap = 16, most = 256;
  const Calls calls(algorithm);
  std::vector<std::int64_t> inlined(algorithm.functions.size());  // the cost of a call; 0 if it is a load
  std::vector<ir::Directive> directives;
  for (const std::uint32_t f : algorithm.order) {
    const Function &function = algorithm.functions[f];
    std::int64_t cost = 0;
    for (const Definition &definition : function.definitions) cost += calls.cost(definition, inlined);
    const Calls::Of &of = calls.of(f);
    const bool can_inline = function.definitions.size() == 1 && !function.output;
    const bool must_inline = of.unbounded || function.rank() > ir::maximum_rank;
    const bool once = of.count <= 1 && !of.repeated && cost <= most;
    if (function.inline_reduction || (can_inline && (must_inline || once || cost <= cheap)))
      inlined[f] = cost;
    else
      directives.push_back({.kind = DirectiveKind::compute_root, .func = f, .where = function.where});
  }
  return scheduled(algorithm, directives, gpu);
}

}  // namespace samite::schedules
