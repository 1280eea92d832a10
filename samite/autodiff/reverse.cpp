// Reverses the statements of a block, the last one first.
#include "samite/autodiff/deriver.h"
#include "samite/autodiff/rules.h"
#include "samite/autodiff/tile_rules.h"
#include "samite/base/error.h"

#include <algorithm>
#include <ranges>

namespace samite::autodiff {

using namespace ir;

void Deriver::reverse(const Block &block) {
  for (const Stmt &stmt : block | std::views::reverse) {
    build_.at(stmt.where());
    lose_what_is_not_kept(stmt);
    take_back(undo_.of[&stmt]);
    visit(
        stmt, [&](const Let &let) { reverse_let(let); },
        [&](const Store &store) {
          if (!active_array_[store.array]) return;
          Value taken = gradient_operation(Op::Exchange, store.array, store.indices, store.value.type());
          add(store.value, taken);
        },
        [&](const Accumulate &accumulate) {
          if (!active_array_[accumulate.array] || !active(accumulate.value)) return;
          const Type type = accumulate.value.type();
          add(accumulate.value, gradient_operation(Op::Load, accumulate.array, accumulate.indices, type));
        },
        [&](const If &branch) { reverse_branch(branch, stmt.where()); },
        [&](const For &loop) { reverse_loop(loop, stmt.where()); },
        [&](const While &loop) { reverse_loop(loop, stmt.where()); }, [](const Allocate &) {},
        [&](const LocalStore &store) { reverse_store(store); },
        [](const LoweredOnly auto &) { throw InternalError("a lowered kernel is to be differentiated"); },
        [](const Print &) {}, [](const Check &) {}, [&](const CustomAdjoint &custom) { reverse_custom(custom); },
        [](const CapturedOnly auto &) { internal_check(false, "a statement of the captured form"); });
    release_what_nothing_reads_before(stmt);
  }
}

Value Deriver::gradient_operation(Op op, std::uint32_t array, const std::vector<Value> &indices, const Type &type) {
  return build_.operation({op, type, values(indices), parameters_.gradient[array]});
}

void Deriver::reverse_let(const Let &let) {
  // An exchange is a load and a store of zero, which overwrites the previous value.
  if (let.value.op == Op::Exchange && active_array_[let.value.array])
    gradient_operation(Op::Exchange, let.value.array, let.value.operands, let.value.type);
  if (!active(let.local) || locals_.reversed[let.local]) return;
  Value seed = adjoint(let.local);
  if (info(let.value.op).typing == Typing::Load) {
    build_.append(
        {Accumulate{parameters_.gradient[let.value.array], values(let.value.operands), seed, true}, build_.where()});
    return;
  }
  if (let.value.op == Op::LocalLoad) {
    const LocalArrayId gradients = *arrays_.latest[let.value.array]->adjoint;
    Value index = value(let.value.operands[0]);
    Value sum = build_(Op::Add, {build_.local_load(seed.type(), gradients, index), seed});
    build_.local_store(gradients, index, sum);
    return;
  }
  Operation operation = let.value;
  operation.operands = values(operation.operands);
  noting_.operation = info(operation.op).name;
  noting_.noted = {seed};
  for (const Value &operand : operation.operands)
    if (is_floating(operand.type()) && noting_.noted.size() < Notes::record_size - 2) noting_.noted.push_back(operand);
  if (is_tile_operation(let.value.op)) {
    // An operation that only moves elements also moves their gradients, in any gradient type.
    if (is_float8(operation.operands[0].type()) && operation.op != Op::MatMul)
      operation.operands[0] = Value::zero(gradient_type(operation.operands[0].type()));
    for (std::size_t i = 0; i < operation.operands.size(); ++i) {
      const Value &operand = let.value.operands[i];
      if (active(operand)) add(operand, tile_gradient(build_, operation, *primal_value_[let.local], seed, i));
    }
  } else if (!reverse_power(let)) {
    auto partials = autodiff::partials(build_, operation, *primal_value_[let.local]);
    for (std::size_t i = 0; i < partials.size(); ++i) {
      const Value &operand = let.value.operands[i];
      if (active(operand)) add(operand, apply(build_, partials[i], seed, gradient_type(operand.type())));
    }
  }
  noting_.operation = "the statement", noting_.noted.clear();
}

// The store overwrites the previous element.
void Deriver::reverse_store(const LocalStore &store) {
  if (!activity_.local_array[store.array]) return;
  const LocalArray &array = *arrays_.latest[store.array];
  Value index = value(store.index);
  const Type type = gradient_type(array.type);
  Value taken = build_.local_load(type, *array.adjoint, index);
  build_.local_store(*array.adjoint, index, Value::zero(type));
  add(store.value, taken);
}

void Deriver::reverse_branch(const If &branch, SourceLocation where) {
  bool results = std::any_of(branch.results.begin(), branch.results.end(),
                             [&](const BranchResult &result) { return active(result.local); });
  if (!results && !has_adjoint(branch.then_block) && !has_adjoint(branch.else_block)) return;
  If reversed{value(branch.condition), {}, {}, {}};
  auto side = [&](const Block &block, Value BranchResult::*chosen) {
    recompute(block);
    declare_adjoints(block);
    build_.at(where);
    for (const BranchResult &result : branch.results)
      if (active(result.local)) add(result.*chosen, adjoint(result.local));
    reverse(block);
  };
  Block outer = build_.open();
  side(branch.then_block, &BranchResult::then_value);
  reversed.then_block = build_.close({});
  side(branch.else_block, &BranchResult::else_value);
  reversed.else_block = build_.close(std::move(outer));
  build_.append({std::move(reversed), where});
}

}  // namespace samite::autodiff
