#include "samite/passes/tiles/recomputed_tiles.h"

#include "samite/ir/tile_rules.h"
#include "samite/ir/visit.h"
#include "samite/passes/tiles/element_group.h"

#include <algorithm>

namespace samite::passes {

using namespace ir;

namespace {

using Recomputed = std::map<LocalId, Operation>;

// Operations on indices that each loop over elements recomputes rather than reading their results.
constexpr int most_recomputed = 3;

bool operands_need_no_memory(const Operation &operation, const Recomputed &found) {
  return std::ranges::all_of(operation.operands, [&](const Value &operand) {
    return !operand.is_local() || !operand.type().is_tile() || found.contains(operand.id());
  });
}

bool is_index_of_recomputed(const Operation &operation, const Recomputed &found) {
  const Type &type = operation.type;
  const bool arithmetic = operation.op == Op::Add || operation.op == Op::Sub || operation.op == Op::Mul;
  return arithmetic && type.is_tile() && is_integer(type.element()) && operands_need_no_memory(operation, found);
}

bool is_one_number(const Operation &operation) {
  return operation.op == Op::Broadcast && operation.type.is_tile() && !operation.operands[0].type().is_tile();
}

// Counts the uses of tiles by a statement that reads them at its own element.
void count_uses_by_element(const Stmt &stmt, std::map<LocalId, int> &uses) {
  const auto *let = stmt.as<Let>();
  // Places are read at the element that is taken.
  if (let && let->value.op == Op::Take && let->value.operands[1].is_local()) ++uses[let->value.operands[1].id()];
  const auto type = tile_of(stmt);
  if (!type || (let && (moves_elements(let->value.op) || let->value.op == Op::Reshape))) return;
  for_each_operand(stmt, [&](const Value &value) {
    if (value.is_local() && value.type().is_tile() && value.type().shape() == type->shape()) ++uses[value.id()];
  });
}

}  // namespace

Recomputed recomputed_tiles(const Block &body, const std::vector<int> &uses) {
  Recomputed found;
  std::map<LocalId, int> uses_by_element, operations;
  for_each_statement(body, [&](const Stmt &stmt) {
    count_uses_by_element(stmt, uses_by_element);
    const auto *let = stmt.as<Let>();
    if (let && (let->value.op == Op::Coordinate || is_one_number(let->value))) {
      found.emplace(let->local, let->value);
    } else if (let && is_index_of_recomputed(let->value, found)) {
      int own = 1;
      for (const Value &operand : let->value.operands)
        if (operand.is_local()) own += operations[operand.id()];
      operations[let->local] = own;
      if (own <= most_recomputed) found.emplace(let->local, let->value);
    }
  });
  // Values that depend on others follow them.
  const auto is_in_memory = [&](const auto &made) {
    return uses_by_element[made.first] != uses[made.first] || !operands_need_no_memory(made.second, found);
  };
  while (std::erase_if(found, is_in_memory) != 0) continue;
  return found;
}

}  // namespace samite::passes
