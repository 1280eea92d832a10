#include "samite/schedule/scheduler.h"

#include "samite/base/error.h"
#include "samite/schedule/compute_with.h"
#include "samite/schedule/forms.h"
#include "samite/schedule/nest.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>

namespace samite::schedules {

namespace {

std::string said_at(SourceLocation where) { return where.known() ? fmt::format(" ({})", where.to_string()) : ""; }

}  // namespace

FunctionSchedule Scheduler::unscheduled(const Function &function) {
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

DefinitionSchedule &Scheduler::of_definition(const ir::Directive &directive) {
  DefinitionSchedule *schedule = &made_[directive.func].definitions[directive.definition];
  if (directive.specialization)
    for (const std::size_t i : specializations_.at(*directive.specialization)) schedule = &schedule->specializations[i];
  return *schedule;
}

std::string Scheduler::described(const ir::Directive &directive) const {
  const std::string &name = algorithm_.functions[directive.func].name;
  const std::string definition = directive.definition == 0
                                     ? fmt::format("'{}'", name)
                                     : fmt::format("update({}) of '{}'", directive.definition - 1, name);
  return directive.specialization ? "the specialization of " + definition : definition;
}

void Scheduler::specialize(const ir::Directive &directive, std::size_t number) {
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

void Scheduler::compute_with(const ir::Directive &directive) {
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

std::string Scheduler::names_of(const std::vector<Loop> &loops) {
  std::vector<std::string> names;
  for (const Loop &loop : loops) names.push_back(loop.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string Scheduler::which_loops(const std::vector<Loop> &loops) {
  if (loops.empty()) return "it has none";
  return "its loops are, from the outermost one: " + names_of(loops);
}

std::size_t Scheduler::find(const ir::Directive &directive, const std::string &name) {
  const std::vector<Loop> &loops = of_definition(directive).loops;
  const auto found = std::ranges::find(loops, name, &Loop::name);
  if (found == loops.end())
    throw UserError(directive.where,
                    fmt::format("{} has no loop '{}'; {}", described(directive), name, which_loops(loops)));
  return static_cast<std::size_t>(found - loops.begin());
}

void Scheduler::must_be_new(const ir::Directive &directive, const std::string &name) {
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

void Scheduler::split(const ir::Directive &directive) {
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

void Scheduler::replace_name(DefinitionSchedule &schedule, const std::string &from, const std::string &to) {
  for (std::string &root : schedule.roots)
    if (root == from) root = to;
  for (Relation &relation : schedule.relations)
    for (std::string *name : {&relation.whole, &relation.outer, &relation.inner})
      if (*name == from) *name = to;
}

void Scheduler::fuse(const ir::Directive &directive) {
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

void Scheduler::rename(const ir::Directive &directive) {
  const std::size_t at = find(directive, directive.names.at(0));
  must_be_new(directive, directive.names.at(1));
  DefinitionSchedule &schedule = of_definition(directive);
  schedule.relations.push_back(
      {Relation::Kind::rename, directive.names[0], directive.names[1], "", 1, ir::Tail::automatic, directive.where});
  schedule.loops[at].name = directive.names[1];
}

void Scheduler::reorder(const ir::Directive &directive) {
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

void Scheduler::set_type(const ir::Directive &directive, LoopType type) {
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

}  // namespace samite::schedules
