#include "samite/lang/renamed.h"

#include "samite/base/function_ref.h"
#include "samite/ir/visit.h"

namespace samite::lang {
namespace {

using namespace ir;

// Each statement without blocks, transformed by `made`. A user's adjoint, or the primal of a called adjoint, assigns
// and stores only to its own locals.
Block rewritten(const Block &block, FunctionRef<Stmt(const Stmt &)> made) {
  Block copy;
  copy.reserve(block.size());
  for (const Stmt &stmt : block)
    copy.push_back(visit(
        stmt,
        [&](If branch) {
          for (Block *side : {&branch.then_block, &branch.else_block}) *side = rewritten(*side, made);
          return Stmt(std::move(branch), stmt.where());
        },
        [&](For loop) {
          loop.body = rewritten(loop.body, made);
          return Stmt(std::move(loop), stmt.where());
        },
        [&](While loop) {
          for (Block *part : {&loop.condition_block, &loop.body}) *part = rewritten(*part, made);
          return Stmt(std::move(loop), stmt.where());
        },
        [&](Labelled labelled) {
          labelled.body = rewritten(labelled.body, made);
          return Stmt(std::move(labelled), stmt.where());
        },
        [&](const auto &) { return made(stmt); }));
  return copy;
}

}  // namespace

Block renamed_local(const Block &block, LocalId from, LocalId to) {
  const Block read = map_operands(block, [&](const Value &value) {
    return value.is_local() && value.id() == from ? Value::local(value.type(), to) : value;
  });
  return rewritten(read, [&](const Stmt &stmt) {
    const auto *assign = stmt.as<Assign>();
    return assign && assign->local == from ? Stmt(Assign{to, assign->value}, stmt.where()) : stmt;
  });
}

Block renamed_local_array(const Block &block, LocalArrayId from, LocalArrayId to) {
  return rewritten(block, [&](const Stmt &stmt) {
    if (local_array_touched(stmt) != from) return stmt;
    if (const auto *store = stmt.as<LocalStore>())
      return Stmt(LocalStore{to, store->index, store->value}, stmt.where());
    Let load = *stmt.as<Let>();
    load.value.array = to;
    return Stmt(std::move(load), stmt.where());
  });
}

}  // namespace samite::lang
