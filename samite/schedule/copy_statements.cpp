#include "samite/schedule/copy_statements.h"

#include "samite/ir/visit.h"

#include <algorithm>
#include <ranges>

namespace samite::schedules {

using namespace ir;

std::set<LocalId> dependencies_of(const Block &body, const std::vector<Value> &values) {
  std::set<LocalId> found;
  const auto add = [&](const Value &value) {
    if (value.is_local()) found.insert(value.id());
  };
  for (const Value &value : values) add(value);
  for (const auto &stmt : std::views::reverse(body))
    if (found.contains(stmt.as<Let>()->local)) for_each_operand(stmt, add);
  return found;
}

Block needed_for(const Block &body, const std::vector<Value> &values) {
  const std::set<LocalId> used = dependencies_of(body, values);
  Block needed;
  for (const Stmt &stmt : body)
    if (used.contains(stmt.as<Let>()->local)) needed.push_back(stmt);
  return needed;
}

Value StatementCopy::operator()(const Value &value) const {
  const auto found = value.is_local() ? made_.find(value.id()) : made_.end();
  return found == made_.end() ? value : found->second;
}

void StatementCopy::copy(const Block &from, Block &to, const std::function<std::uint32_t(std::uint32_t)> &array_of) {
  for (const Stmt &stmt : from) {
    const Let *let = stmt.as<Let>();
    Operation operation = let->value;
    for (Value &operand : operation.operands) operand = (*this)(operand);
    if (array_of && operation.op == Op::Load) operation.array = array_of(operation.array);
    const Value made = Value::local(operation.type, next_++);
    to.emplace_back(Let{made.id(), std::move(operation)}, stmt.where());
    put(let->local, made);
  }
}

}  // namespace samite::schedules
