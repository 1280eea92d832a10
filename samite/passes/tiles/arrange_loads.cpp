#include "samite/passes/tiles/arrange_loads.h"

#include "samite/ir/tile_rules.h"
#include "samite/ir/visit.h"
#include "samite/passes/tiles/element_group.h"

#include <algorithm>
#include <map>

namespace samite::passes {

using namespace ir;

namespace {

bool adds_dimensions_before(const Type &from, const Type &to) {
  const int added = to.shape().rank() - from.shape().rank();
  for (int d = 0; d < to.shape().rank(); ++d)
    if (to.shape()[d] != (d < added ? 1 : from.shape()[d - added])) return false;
  return added >= 0;
}

// Whether a tile is read only by products, and by element-wise operations whose results become factors.
class Factors {
 public:
  Factors(const Block &body, const std::vector<int> &uses) : uses_(uses) {
    for (const Stmt &stmt : body)
      for_each_operand(stmt, [&](const Value &value) {
        if (value.is_local()) readers_[value.id()].push_back(&stmt);
      });
  }

  bool become_of(LocalId tile) const {
    const auto own = readers_.find(tile);
    if (own == readers_.end() || static_cast<int>(own->second.size()) != uses_[tile]) return false;
    return std::ranges::all_of(own->second, [&](const Stmt *stmt) {
      const auto *let = stmt->as<Let>();
      if (!let || !let->value.type.is_tile()) return false;
      const Operation &operation = let->value;
      if (operation.op == Op::MatMul) return !(operation.operands[2] == Value::local(operation.type, tile));
      return is_pure_tile(*stmt) && !is_tile_call(operation.op) && become_of(let->local);
    });
  }

 private:
  const std::vector<int> &uses_;
  std::map<LocalId, std::vector<const Stmt *>> readers_;
};

}  // namespace

bool loads_window(const Let &let) {
  if (let.value.op != Op::Load || is_gather(let.value.operands)) return false;
  const int rank = let.value.type.shape().rank();
  return rank <= 2 && rank <= static_cast<int>(let.value.operands.size());
}

std::optional<Block> with_loads_reshaped(const Block &block, const std::vector<int> &uses) {
  std::map<LocalId, std::size_t> loads;  // and their positions
  std::map<std::size_t, const Let *> reshaped;
  std::set<std::size_t> dropped;
  for (std::size_t i = 0; i < block.size(); ++i) {
    auto *let = block[i].as<Let>();
    if (!let || !let->value.type.is_tile()) continue;
    if (let->value.op == Op::Load && uses[let->local] == 1 && !is_gather(let->value.operands)) loads[let->local] = i;
    if (let->value.op != Op::Reshape || !let->value.operands[0].is_local()) continue;
    const auto from = loads.find(let->value.operands[0].id());
    if (from == loads.end() || !adds_dimensions_before(let->value.operands[0].type(), let->value.type)) continue;
    reshaped[from->second] = let;
    dropped.insert(i);
  }
  if (dropped.empty()) return std::nullopt;
  Block changed;
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (dropped.contains(i)) continue;
    changed.push_back(block[i]);
    if (!reshaped.contains(i)) continue;
    Let load = *block[i].as<Let>();
    load.local = reshaped[i]->local;
    load.value.type = reshaped[i]->value.type;
    changed.back() = {std::move(load), block[i].where()};
  }
  return changed;
}

LoadsAhead with_loads_ahead(const For &loop, const std::vector<int> &uses) {
  bool writes = false;
  for_each_statement(loop.body, [&](const Stmt &stmt) { writes = writes || array_written(stmt); });
  if (writes || loop.stages == 1 || !loop.step.is_constant()) return {loop.body, {}};
  std::set<LocalId> late;  // values unknown before the iteration begins
  for (const Carried &carried : loop.carried) late.insert(carried.inner);
  const Factors factors(loop.body, uses);
  LoadsAhead ahead;
  Block rest;
  for (const Stmt &stmt : loop.body) {
    const auto *let = stmt.as<Let>();
    bool ready = true;
    for_each_operand(stmt,
                     [&](const Value &value) { ready = ready && !(value.is_local() && late.contains(value.id())); });
    const bool scalar = let && !let->value.type.is_tile() && info(let->value.op).pure && let->value.op != Op::LocalLoad;
    if (let && ready && loads_window(*let) && factors.become_of(let->local)) {
      ahead.loads.insert(let->local);
      ahead.body.push_back(stmt);
    } else if (ready && scalar && !is_tile_call(let->value.op)) {
      ahead.body.push_back(stmt);
    } else {
      for_each_definition(stmt, [&](LocalId local, Type) { late.insert(local); });
      rest.push_back(stmt);
    }
  }
  ahead.body.insert(ahead.body.end(), rest.begin(), rest.end());
  return ahead;
}

}  // namespace samite::passes
