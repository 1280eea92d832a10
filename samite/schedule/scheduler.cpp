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

}  // namespace

Scheduler::Scheduler(const Algorithm &algorithm) : algorithm_(algorithm) {
  for (const Function &function : algorithm.functions) made_.push_back(unscheduled(function));
}

void Scheduler::apply(const ir::Directive &directive, std::size_t number) {
  if (directive.func >= made_.size()) return;  // of a Func that is never called
  const Function &function = algorithm_.functions[directive.func];
  if (directive.definition >= function.definitions.size())
    throw UserError(directive.where,
                    fmt::format("'{}' has {} update definition{}, and update({}) is asked for", function.name,
                                function.definitions.size() - 1, function.definitions.size() == 2 ? "" : "s",
                                directive.definition - 1));
  if (is_about_loops(directive.kind) || about_storage(directive.kind)) said_.emplace(directive.func, directive);
  if (about_storage(directive.kind)) storage_said_.insert_or_assign({directive.func, directive.kind}, directive.where);
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
    case DirectiveKind::align_bounds: of(directive).alignments[dimension(directive)] = directive.numbers.at(0); return;
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

const DefinitionSchedule &Scheduler::loops(std::uint32_t f, std::uint32_t definition) const {
  return made_[f].definitions[definition];
}

std::vector<FunctionSchedule> Scheduler::finish() {
  for (std::uint32_t f = 0; f < made_.size(); ++f) check(f);
  check_shared_loops(algorithm_, made_);
  return std::move(made_);
}

void Scheduler::compute_inline(const ir::Directive &directive) {
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

Place Scheduler::at(const ir::Directive &directive) const {
  const std::uint32_t other = directive.other.value();
  const Function &function = algorithm_.functions[directive.func];
  if (other == directive.func)
    throw UserError(directive.where, fmt::format("'{0}' is computed at a loop of '{0}' itself; name the Func that "
                                                 "calls it",
                                                 function.name));
  return {Place::Level::at, other, directive.names.at(0), directive.where};
}

void Scheduler::place(const ir::Directive &directive, bool compute, const Place &place) {
  const Function &function = algorithm_.functions[directive.func];
  if (function.output && place.level == Place::Level::at)
    throw UserError(
        directive.where,
        fmt::format("'{}' fills an array of the caller's, and is computed at the root; leave it there", function.name));
  FunctionSchedule &schedule = of(directive);
  if (compute) {
    schedule.compute = place;
    if (!stored_.contains(directive.func)) schedule.store = place;
  } else {
    schedule.store = place;
    stored_.insert(directive.func);
  }
}

int Scheduler::dimension(const ir::Directive &directive) const {
  return dimension_named(directive, directive.names.at(0));
}

int Scheduler::dimension_named(const ir::Directive &directive, const std::string &name) const {
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

void Scheduler::reorder_storage(const ir::Directive &directive) {
  std::vector<int> order;
  for (const std::string &name : directive.names) {
    const int d = dimension_named(directive, name);
    if (std::ranges::find(order, d) != order.end())
      throw UserError(directive.where, fmt::format("reorder_storage names '{}' twice; name each dimension once", name));
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

}  // namespace samite::schedules
