#include "samite/passes/analysis/first_iteration.h"

#include "samite/ir/visit.h"

#include <algorithm>

namespace samite::passes {

using namespace ir;

FirstIteration::FirstIteration(const IndexForms &forms, const For &loop) : forms_(forms), loop_(loop) {
  for_each_statement(loop.body, [&](const Stmt &stmt) {
    for_each_definition(stmt, [&](LocalId local, Type) { inside_.insert(local); });
  });
  for (const Stmt &stmt : loop.body) {
    const auto *let = stmt.as<Let>();
    if (let && info(let->value.op).pure && let->value.op != Op::LocalLoad)
      definitions_.emplace(let->local, &let->value);
  }
}

std::int64_t FirstIteration::divisor(const Value &value) const {
  constexpr std::int64_t of_zero = 64;
  if (is_index(value)) return of_zero;
  if (!value.is_local() || !inside_.contains(value.id())) return std::min(forms_.divisor(value), of_zero);
  const auto known = definitions_.find(value.id());
  if (known == definitions_.end() || known->second->operands.size() != 2) return 1;
  const Value &a = known->second->operands[0], &b = known->second->operands[1];
  switch (known->second->op) {
    case Op::Add:
    case Op::Sub: return std::min(divisor(a), divisor(b));
    case Op::Mul: return std::min(divisor(a) * divisor(b), of_zero);
    case Op::Div:
    case Op::Rem: return is_index(a) ? of_zero : 1;
    default: return 1;
  }
}

std::optional<Value> FirstIteration::computed(const Value &value, Builder &build) const {
  if (is_index(value)) return Value::constant(loop_.type, 0);
  if (!value.is_local() || !inside_.contains(value.id())) return value;
  const auto known = definitions_.find(value.id());
  if (known == definitions_.end()) return std::nullopt;
  Operation operation = *known->second;
  for (Value &operand : operation.operands) {
    const auto own = computed(operand, build);
    if (!own) return std::nullopt;
    operand = *own;
  }
  return build.operation(std::move(operation));
}

}  // namespace samite::passes
