// Custom adjoints: the recomputation runs their replay, the reverse sweep their adjoint.
#include "samite/autodiff/deriver.h"
#include "samite/passes/adjoint/inline_primals.h"
#include "samite/passes/simplify/rename.h"

#include <algorithm>

namespace samite::autodiff {

using namespace ir;

void Deriver::recompute_custom(const CustomAdjoint &custom) {
  const CustomAdjoint flat = passes::inline_nested_primals(custom);
  for (const CustomOperand &each : flat.operands) primal_value_[each.inner] = value(each.operand);
  copy(flat.replays ? flat.replay : flat.primal, flat.replays ? Copied::ValuesAfterwards : Copied::Values);
  // Copies: if a function returns its argument, the rules must still distinguish the result from the argument.
  for (const CustomResult &result : flat.results) {
    const Value recomputed = value(flat.replays ? result.replayed : result.value);
    primal_value_[result.local] = Value::local(result.type, build_.variable(recomputed));
  }
}

void Deriver::reverse_custom(const CustomAdjoint &custom) {
  if (std::none_of(custom.results.begin(), custom.results.end(),
                   [&](const CustomResult &result) { return active(result.local); }))
    return;
  const CustomAdjoint flat = passes::inline_nested_primals(custom);
  for (const CustomResult &result : flat.results)
    primal_value_[result.cotangent] = active(result.local) ? adjoint(result.local) : Value::zero(result.type);
  noting_.operation = "this function, by its own adjoint,";
  copy(flat.adjoint, Copied::Everything);
  for (const CustomOperand &each : flat.operands)
    if (active(each.operand)) add(each.operand, value(each.gradient));
  noting_.operation = "the statement";
}

// Copies the statements under new names: with their writes to arrays, or only for their values. Their local arrays have
// no other use, so they need no log.
void Deriver::copy(const Block &block, Copied what) {
  std::unordered_map<LocalArrayId, LocalArrayId> arrays;
  for_each_statement(block, [&](const Stmt &stmt) {
    for_each_definition(stmt, [&](LocalId local, Type type) { define(local, type); });
    if (auto *allocate = stmt.as<Allocate>()) arrays[allocate->array] = build_.new_local_array();
  });
  auto statement = [&](const Stmt &before, Stmt renamed) -> Block {
    const SourceLocation where = before.where();
    if (auto *accumulate = renamed.as<Accumulate>(); accumulate && accumulate->of_gradient) {
      if (what != Copied::Everything || !active_array_[accumulate->array]) return {};
      return {
          {Accumulate{parameters_.gradient[accumulate->array], accumulate->indices, accumulate->value, true}, where}};
    }
    auto *let = renamed.as<Let>();
    if (let && let->value.op == Op::Load && what != Copied::Values && parameters_.written[let->value.array]) {
      Let load = *let;
      load.value.attribute = load_afterwards;
      return {{std::move(load), where}};
    }
    if (what == Copied::Everything || !has_effect(before)) return {std::move(renamed)};
    if (!let) return {};
    // An atomic operation must not run a second time.
    const LocalId old = before.as<Let>()->local;
    return {{Let{let->local, {Op::Unavailable, let->value.type, {}, 0, Keep::name_of(old)}}, where}};
  };
  for (Stmt &stmt : passes::renamed(
           block, {[&](const Value &v) { return value(v); }, [&](LocalId local) { return primal_value_[local]->id(); },
                   [&](LocalArrayId array) { return arrays.at(array); }, statement}))
    build_.append(std::move(stmt));
}

}  // namespace samite::autodiff
