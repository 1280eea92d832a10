#include "samite/schedule/deal_out.h"

#include <algorithm>
#include <ranges>

namespace samite::schedules {

using namespace ir;
using passes::Affine;
using passes::Symbol;

namespace {

constexpr std::int64_t elements_at_once = 4;  // loaded by a thread for its block

// Whether the definition's load follows an array's last dimension as the variable grows.
bool goes_along_row(const Lowering &lowering, const Definition &definition, LocalId variable) {
  const Forms forms(definition.body);
  const Symbol symbol = Symbol::local(variable);
  return std::ranges::any_of(definition.body, [&](const Stmt &stmt) {
    const Let *let = stmt.as<Let>();
    if (!let || let->value.op != Op::Load || lowering.algorithm.function_of(let->value.array)) return false;
    const Affine last = forms.form(let->value.operands.back());
    return last.known() && last.coefficient(symbol) == 1;
  });
}

}  // namespace

DefinitionSchedule dealt_out(const Lowering &lowering, std::uint32_t f, std::size_t n, const Region &region) {
  const FunctionSchedule &schedule = lowering.schedules[f];
  const Definition &definition = lowering.function(f).definitions[n];
  DefinitionSchedule dealt;
  for (const auto &pure : definition.pure) dealt.roots.push_back(pure ? pure->name : std::string());
  for (int d : std::views::reverse(schedule.storage_order))
    if (const auto &pure = definition.pure[static_cast<std::size_t>(d)])
      dealt.loops.push_back({pure->name, LoopType::gpu_thread, definition.where});
  // A few neighbours together, which one load may combine (passes/pipelines/pack_accesses.h).
  std::optional<Loop> neighbours;
  const auto row = region.empty() ? 0 : static_cast<std::size_t>(schedule.storage_order.front());
  if (const auto last = region.empty() ? std::nullopt : definition.pure[row];
      last && lowering.gpu && definition.reductions.empty() && goes_along_row(lowering, definition, last->local)) {
    const Affine &extent = region[row].extent;
    if (extent.is_constant() && extent.constant() % elements_at_once == 0 && extent.constant() > elements_at_once) {
      const std::string outer = last->name + ".unit", inner = last->name + ".element";
      dealt.relations.push_back(
          {Relation::Kind::split, last->name, outer, inner, elements_at_once, ir::Tail::automatic, definition.where});
      dealt.loops.back().name = outer;
      neighbours = Loop{inner, LoopType::unrolled, definition.where};
    }
  }
  if (neighbours) dealt.loops.push_back(*neighbours);
  for (const ReductionVariable &reduction : definition.reductions) {
    dealt.roots.push_back(reduction.variable.name);
    dealt.loops.push_back({reduction.variable.name, LoopType::serial, definition.where});
  }
  dealt.atomic = schedule.definitions[n].atomic;
  return dealt;
}

}  // namespace samite::schedules
