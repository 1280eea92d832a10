#include "samite/passes/tiles/stage_loads.h"

#include "samite/ir/visit.h"
#include "samite/passes/simplify/rewrite.h"

#include <map>
#include <set>

namespace samite::passes {
namespace {

using namespace ir;

struct Ahead {
  std::size_t statements = 0;
  std::set<LocalArrayId> buffers;
};

Ahead ahead_of(const For &loop, const FactsOfArrays &arrays) {
  std::set<std::uint32_t> arrays_written;
  std::map<LocalArrayId, int> written;
  for_each_statement(loop.body, [&](const Stmt &stmt) {
    if (const auto array = array_written(stmt)) arrays_written.insert(*array);
    if (auto *store = stmt.as<LocalStore>()) ++written[store->array];
    if (const TileMemory *result = result_of(stmt)) ++written[result->array];
  });
  Ahead found;
  if (!loop.step.is_constant()) return found;
  const auto stays = [&](std::uint32_t array) {
    return arrays_written.empty() || (!arrays_written.contains(array) && facts_of(arrays, array).unaliased);
  };
  std::set<LocalId> late;
  for (const Carried &carried : loop.carried) late.insert(carried.inner);
  for (std::size_t i = 0; i < loop.body.size(); ++i) {
    const Stmt &stmt = loop.body[i];
    bool ready = true;
    for_each_operand(stmt,
                     [&](const Value &value) { ready = ready && !(value.is_local() && late.contains(value.id())); });
    auto *let = stmt.as<Let>();
    const bool scalar = let && info(let->value.op).pure && let->value.op != Op::LocalLoad;
    auto *load = stmt.as<TileLoad>();
    if (ready && load && written[load->result.array] == 1 && stays(load->array)) {
      found.buffers.insert(load->result.array);
      found.statements = i + 1;
    } else if (!ready || !(scalar || stmt.as<Allocate>())) {
      break;
    }
  }
  return found;
}

// Their allocations are among the first statements of the loop.
For staged(For loop, const Ahead &ahead) {
  loop.ahead = ahead.statements;
  for (Stmt &stmt : loop.body) {
    auto *allocate = stmt.as<Allocate>();
    if (!allocate || !ahead.buffers.contains(allocate->array)) continue;
    Allocate buffers = *allocate;
    buffers.stages = loop.stages;
    stmt = Stmt(buffers, stmt.where());
  }
  return loop;
}

}  // namespace

Kernel stage_loads(Kernel lowered, const FactsOfArrays &arrays) {
  lowered.body = rewrite(lowered.body, [&](const Stmt &stmt) -> Stmt {
    auto *loop = stmt.as<For>();
    if (!loop || loop->stages == 1) return stmt;
    const Ahead ahead = ahead_of(*loop, arrays);
    return ahead.statements == 0 ? stmt : Stmt(staged(*loop, ahead), stmt.where());
  });
  return lowered;
}

}  // namespace samite::passes
