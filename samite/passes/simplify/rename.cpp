#include "samite/passes/simplify/rename.h"

#include "samite/base/error.h"
#include "samite/ir/visit.h"

namespace samite::passes {
namespace {

using namespace ir;

std::vector<Carried> renamed(std::vector<Carried> carried, const Renaming &to) {
  for (Carried &value : carried)
    value = {to.local(value.inner), to.local(value.result), value.type, to.value(value.initial), to.value(value.next)};
  return carried;
}

// A statement without blocks, with new names except for the values that it reads.
Stmt with_new_names(const Stmt &stmt, const Renaming &to) {
  return visit(
      stmt,
      [&](Let let) {
        let.local = to.local(let.local);
        if (let.value.op == Op::LocalLoad) let.value.array = to.local_array(let.value.array);
        return Stmt(std::move(let), stmt.where());
      },
      [&](Allocate allocate) {
        allocate.array = to.local_array(allocate.array);
        return Stmt(allocate, stmt.where());
      },
      [&](LocalStore store) {
        store.array = to.local_array(store.array);
        return Stmt(store, stmt.where());
      },
      [&](const auto &) { return stmt; });
}

}  // namespace

Block renamed(const Block &block, const Renaming &to) {
  Block copy;
  copy.reserve(block.size());
  for (const Stmt &stmt : block)
    visit(
        stmt,
        [&](const If &branch) {
          If renamed_branch{to.value(branch.condition), renamed(branch.then_block, to), renamed(branch.else_block, to),
                            branch.results};
          for (BranchResult &result : renamed_branch.results)
            result = {to.local(result.local), result.type, to.value(result.then_value), to.value(result.else_value)};
          copy.emplace_back(std::move(renamed_branch), stmt.where());
        },
        [&](const For &loop) {
          For renamed_loop = loop;
          renamed_loop.index = to.local(loop.index);
          for (Value For::*bound : {&For::begin, &For::end, &For::step})
            renamed_loop.*bound = to.value(renamed_loop.*bound);
          renamed_loop.body = renamed(loop.body, to);
          renamed_loop.carried = renamed(loop.carried, to);
          copy.emplace_back(std::move(renamed_loop), stmt.where());
        },
        [&](const While &loop) {
          copy.emplace_back(While{renamed(loop.condition_block, to), to.value(loop.condition), renamed(loop.body, to),
                                  renamed(loop.carried, to)},
                            stmt.where());
        },
        [](const CapturedOnly auto &) { throw InternalError("statements to be renamed are not structured"); },
        [](const CustomAdjoint &) { throw InternalError("a custom adjoint is to be renamed"); },
        [&](const auto &) {
          Stmt mapped = map_operands(with_new_names(stmt, to), to.value);
          if (!to.statement) return copy.push_back(std::move(mapped));
          for (Stmt &instead : to.statement(stmt, std::move(mapped))) copy.push_back(std::move(instead));
        });
  return copy;
}

Stmt on_tiles(const Stmt &stmt, const std::function<LocalArrayId(LocalArrayId)> &tile) {
  if (const auto *own = stmt.as<Let>(); own && own->value.op == Op::LocalLoad) {
    Let let = *own;
    let.value.array = tile(let.value.array);
    return {std::move(let), stmt.where()};
  }
  if (const auto *own = stmt.as<LocalStore>()) {
    LocalStore store = *own;
    store.array = tile(store.array);
    return {store, stmt.where()};
  }
  return map_tiles(stmt, tile);
}

}  // namespace samite::passes
