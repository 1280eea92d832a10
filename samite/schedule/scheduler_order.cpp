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

void Scheduler::check_definition(std::uint32_t f, std::size_t d, DefinitionSchedule &of) const {
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

void Scheduler::check_goes_beyond(std::uint32_t f, std::size_t d, const DefinitionSchedule &of,
                                  const Relation &split) const {
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

bool Scheduler::rounds_up(const DefinitionSchedule &of, const std::string &root) {
  return !root.empty() && (has_tail(of, root, ir::Tail::round_up) ||
                           std::ranges::any_of(of.specializations, [&](const DefinitionSchedule &special) {
                             return rounds_up(special, root);
                           }));
}

bool Scheduler::may_be_done_twice(std::uint32_t f, std::size_t d, const DefinitionSchedule &of,
                                  const Relation &split) const {
  const Function &function = algorithm_.functions[f];
  const Definition &definition = function.definitions[d];
  const auto is_index = [&](const ReductionVariable &reduction) { return place_of(definition, reduction).has_value(); };
  // Otherwise another iteration may have stored to the element in between.
  const std::set<std::string> names = of.made_of(split.whole);
  for (std::size_t r = 0; r < definition.reductions.size(); ++r)
    if (names.contains(of.roots[definition.pure.size() + r]) && !is_index(definition.reductions[r])) return false;
  // One piece would store an iteration's value while another one stores that of another iteration, unless the user
  // promises that a single iteration stores to an element.
  if (!of.unordered && !std::ranges::all_of(definition.reductions, is_index) && at_the_same_time(of, split))
    return false;
  const Forms forms(definition.body);
  for (const ir::Stmt &stmt : definition.body) {
    const ir::Operation &load = stmt.as<ir::Let>()->value;
    if (load.op != ir::Op::Load || load.array < function.array || load.array >= function.array + function.types.size())
      continue;
    if (!stays(definition, forms, load) && (!in_order(of, split) || !is_earlier(definition, forms, load))) return false;
  }
  return true;
}

bool Scheduler::in_order(const DefinitionSchedule &of, const Relation &split) {
  return !of.unordered && std::ranges::none_of(of.loops, [&](const Loop &loop) {
    return loop.type != LoopType::serial && loop.type != LoopType::unrolled &&
           of.made_of(loop.name).contains(split.outer);
  });
}

bool Scheduler::at_the_same_time(const DefinitionSchedule &of, const Relation &split) {
  return std::ranges::any_of(of.loops, [&](const Loop &loop) {
    const std::set<std::string> names = of.made_of(loop.name);
    return loop.type != LoopType::serial && loop.type != LoopType::unrolled &&
           (names.contains(split.outer) || names.contains(split.inner));
  });
}

std::optional<std::size_t> Scheduler::place_of(const Definition &definition, const ReductionVariable &reduction) {
  for (std::size_t i = 0; i < definition.indices.size(); ++i)
    if (definition.indices[i].is_local() && definition.indices[i].id() == reduction.variable.local) return i;
  return std::nullopt;
}

bool Scheduler::stays(const Definition &definition, const Forms &forms, const ir::Operation &load) {
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

bool Scheduler::is_earlier(const Definition &definition, const Forms &forms, const ir::Operation &load) {
  const auto is_index = [&](const ReductionVariable &reduction) { return place_of(definition, reduction).has_value(); };
  if (!std::ranges::all_of(definition.reductions, is_index)) return false;
  for (const ReductionVariable &reduction : definition.reductions) {
    const std::size_t place = *place_of(definition, reduction);
    const passes::Affine distance = forms.form(definition.indices[place]) - forms.form(load.operands[place]);
    if (!distance.is_constant() || distance.constant() < 0) return false;
    if (distance.constant() > 0) return true;
  }
  return false;
}

void Scheduler::check_order(std::uint32_t f, std::size_t d, const DefinitionSchedule &of) const {
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

bool Scheduler::in_any_order(std::uint32_t f, std::size_t d) const {
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

bool Scheduler::races(const Definition &definition, std::size_t reduction, std::uint32_t f) const {
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

}  // namespace samite::schedules
