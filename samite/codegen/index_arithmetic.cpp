#include "samite/codegen/index_arithmetic.h"

#include "samite/ir/visit.h"

namespace samite::codegen {

using namespace ir;

namespace {

bool index_operation(const Operation &operation) {
  return class_of(operation.type) == ScalarClass::Signed && size_of(operation.type) >= 4 &&
         (operation.op == Op::Add || operation.op == Op::Sub || operation.op == Op::Mul);
}

// For each thread loop with a step: its neighbours' indices, the sums of its own index and less than the step.
std::vector<LocalId> indices_of_neighbours(const Kernel &kernel) {
  std::vector<LocalId> found;
  std::vector<std::int64_t> steps(kernel.local_count, 0);
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    const For *loop = stmt.as<For>();
    if (loop && loop->kind == LoopKind::Thread) steps[loop->index] = loop->step.as_int();
    const Let *let = stmt.as<Let>();
    if (!let || let->value.op != Op::Add) return;
    const Value &index = let->value.operands[0], &by = let->value.operands[1];
    const bool near = index.is_local() && by.is_constant() && by.as_int() > 0 && by.as_int() < steps[index.id()];
    if (near) found.push_back(let->local);
  });
  return found;
}

}  // namespace

std::vector<bool> only_index(const Kernel &kernel) {
  std::vector<bool> only(kernel.local_count, false);
  std::vector<const Operation *> sum_of(kernel.local_count);
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    const Let *let = stmt.as<Let>();
    if (!let || !index_operation(let->value)) return;
    only[let->local] = true;
    sum_of[let->local] = &let->value;
  });
  std::vector<LocalId> open;
  auto serves_otherwise = [&](const Value &value) {
    if (!value.is_local() || !only[value.id()]) return;
    only[value.id()] = false;
    open.push_back(value.id());
  };
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    if (const Let *let = stmt.as<Let>()) {
      const Operation &operation = let->value;
      if (sum_of[let->local] == &operation || operation.op == Op::LocalLoad) return;
      if (info(operation.op).typing == Typing::Load || info(operation.op).typing == Typing::Atomic) {
        for (const Value &value : element_values(operation)) serves_otherwise(value);
        return;
      }
    } else if (const Store *store = stmt.as<Store>()) {
      return serves_otherwise(store->value);
    } else if (const Accumulate *accumulate = stmt.as<Accumulate>()) {
      return serves_otherwise(accumulate->value);
    } else if (const LocalStore *store = stmt.as<LocalStore>()) {
      return serves_otherwise(store->value);
    } else if (stmt.as<LoadPack>()) {
      return;
    } else if (const StorePack *store = stmt.as<StorePack>()) {
      for (const Value &value : store->values) serves_otherwise(value);
      return;
    }
    for_each_operand(stmt, serves_otherwise);
  });
  // The uses of a sum are known after those of the sums that use it.
  while (!open.empty()) {
    const Operation &sum = *sum_of[open.back()];
    open.pop_back();
    for (const Value &operand : sum.operands) serves_otherwise(operand);
  }
  for (const LocalId neighbour : indices_of_neighbours(kernel)) only[neighbour] = true;
  return only;
}

}  // namespace samite::codegen
