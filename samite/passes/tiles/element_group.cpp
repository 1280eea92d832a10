#include "samite/passes/tiles/element_group.h"

#include "samite/ir/tile_rules.h"
#include "samite/ir/visit.h"

#include <algorithm>

namespace samite::passes {

using namespace ir;

namespace {

bool touches_array(const Stmt &stmt) { return array_read(stmt) || array_written(stmt); }

bool is_made_of_coordinates(const Value &value, const TileMemories &memories) {
  const Operation *made = value.is_local() && value.type().is_tile() ? memories.made_again(value) : nullptr;
  return made && (made->op == Op::Coordinate || std::ranges::any_of(made->operands, [&](const Value &operand) {
                    return is_made_of_coordinates(operand, memories);
                  }));
}

}  // namespace

bool moves_elements(Op op) { return op == Op::Transpose || op == Op::Window || op == Op::Broadcast || op == Op::Take; }

std::optional<Type> tile_of(const Stmt &stmt) {
  auto tile = [](const Type &type) { return type.is_tile() ? std::optional(type) : std::nullopt; };
  if (auto *let = stmt.as<Let>()) return is_tile_call(let->value.op) ? std::nullopt : tile(let->value.type);
  if (auto *store = stmt.as<Store>()) return tile(store->value.type());
  if (auto *accumulate = stmt.as<Accumulate>()) return tile(accumulate->value.type());
  if (auto *store = stmt.as<LocalStore>()) return tile(store->value.type());
  return std::nullopt;
}

bool defines_tile(const Stmt &stmt) {
  auto *let = stmt.as<Let>();
  return let && (let->value.type.is_tile() || is_tile_call(let->value.op));
}

bool is_pure_tile(const Stmt &stmt) {
  auto *let = stmt.as<Let>();
  return let && let->value.type.is_tile() && info(let->value.op).pure && let->value.op != Op::LocalLoad;
}

bool ElementGroup::takes(const Stmt &stmt) const {
  const auto type = tile_of(stmt);
  if (!type || type->shape() != shape_) return false;
  if (auto *let = stmt.as<Let>()) {
    if (let->value.op == Op::Reshape) return false;
    if (moves_elements(let->value.op) && defines(let->value.operands[0])) return false;
    if (let->value.op == Op::LocalLoad && local_arrays_written_.contains(let->value.array)) return false;
  }
  if (auto *store = stmt.as<LocalStore>()) return !local_arrays_read_.contains(store->array);
  if (!touches_array(stmt)) return true;
  // Writes and other accesses must be to the same element.
  const bool writes = writes_ || array_written(stmt);
  if (accesses_.empty() || !writes) return true;
  if (is_gather(access_indices(stmt))) return false;
  return std::ranges::all_of(
      accesses_, [&](const Stmt *other) { return std::ranges::equal(access_indices(*other), access_indices(stmt)); });
}

void ElementGroup::add(const Stmt &stmt) {
  statements_.push_back(&stmt);
  has_.insert(&stmt);
  if (auto *let = stmt.as<Let>()) {
    defined_.insert(let->local);
    if (let->value.op == Op::LocalLoad) local_arrays_read_.insert(let->value.array);
  }
  if (auto *store = stmt.as<LocalStore>()) local_arrays_written_.insert(store->array);
  if (!touches_array(stmt)) return;
  accesses_.push_back(&stmt);
  writes_ = writes_ || array_written(stmt).has_value();
}

bool ElementGroup::adds_by_index() const {
  return std::ranges::any_of(statements_, [](const Stmt *stmt) {
    if (auto *let = stmt->as<Let>(); let && info(let->value.op).typing == Typing::Atomic) return true;
    auto *accumulate = stmt->as<Accumulate>();
    return accumulate && is_floating(accumulate->value.type()) && is_gather(accumulate->indices);
  });
}

bool ElementGroup::with_coordinates(const TileMemories &memories) const {
  return std::ranges::any_of(statements_, [&](const Stmt *stmt) {
    bool of_operand = false;
    for_each_operand(*stmt,
                     [&](const Value &value) { of_operand = of_operand || is_made_of_coordinates(value, memories); });
    if (of_operand) return true;
    auto *let = stmt->as<Let>();
    if (let && let->value.op == Op::Broadcast) return let->value.operands[0].type().is_tile();
    if (let && (let->value.op == Op::Coordinate || moves_elements(let->value.op))) return true;
    return touches_array(*stmt) && !is_gather(access_indices(*stmt));
  });
}

std::map<LocalId, int> ElementGroup::uses() const {
  std::map<LocalId, int> uses;
  for (const Stmt *stmt : statements_)
    for_each_operand(*stmt, [&](const Value &value) {
      if (value.is_local()) ++uses[value.id()];
    });
  return uses;
}

}  // namespace samite::passes
