#include "samite/autodiff/undo_log.h"

#include "samite/ir/visit.h"

#include <algorithm>
#include <map>
#include <set>

namespace samite::autodiff {

using namespace ir;

UndoLog map_values(const UndoLog &log, const std::function<Value(const Value &)> &f) {
  UndoLog mapped;
  for (const Undo &undo : log)
    std::visit(
        Overloaded{[&](const UndoStore &store) {
                     mapped.push_back({UndoStore{store.array, store.type, f(store.index), f(store.old)}});
                   },
                   [&](const UndoBranch &branch) {
                     Value condition = f(branch.condition);
                     UndoLog then_log = map_values(branch.then_log, f);
                     mapped.push_back({UndoBranch{condition, std::move(then_log), map_values(branch.else_log, f)}});
                   },
                   [&](const UndoCopy &copy) { mapped.push_back({copy}); }},
        undo.kind);
  return mapped;
}

UndoLog without(const UndoLog &log, LocalArrayId array) {
  UndoLog kept;
  for (const Undo &undo : log)
    std::visit(Overloaded{[&](const UndoBranch &branch) {
                            UndoLog then_log = without(branch.then_log, array);
                            UndoLog else_log = without(branch.else_log, array);
                            if (!then_log.empty() || !else_log.empty())
                              kept.push_back({UndoBranch{branch.condition, std::move(then_log), std::move(else_log)}});
                          },
                          [&](const auto &write) {
                            if (write.array != array) kept.push_back(undo);
                          }},
               undo.kind);
  return kept;
}

namespace {

struct Writers {
  std::map<LocalArrayId, LocalWrites> writes;
  std::set<LocalArrayId> own;  // allocated inside

  void walk(const Block &block, bool in_loop) {
    for (const Stmt &stmt : block) {
      if (auto *allocate = stmt.as<Allocate>()) {
        own.insert(allocate->array);
      } else if (auto *store = stmt.as<LocalStore>()) {
        LocalWrites &entry = writes.try_emplace(store->array, LocalWrites{store->array}).first->second;
        ++entry.stores;
        entry.in_loop = entry.in_loop || in_loop;
      } else if (auto *branch = stmt.as<If>()) {
        walk(branch->then_block, in_loop), walk(branch->else_block, in_loop);
      } else if (auto *loop = stmt.as<For>()) {
        walk(loop->body, true);
      } else if (auto *loop = stmt.as<While>()) {
        walk(loop->condition_block, true), walk(loop->body, true);
      }
    }
  }
};

bool has_blocks(const Stmt &stmt) { return stmt.as<If>() || stmt.as<For>() || stmt.as<While>(); }

void find_first_readers(const Block &block, std::vector<const Stmt *> &first) {
  std::set<LocalArrayId> own;
  for (const Stmt &stmt : block) {
    if (auto *allocate = stmt.as<Allocate>()) own.insert(allocate->array);
    if (!has_blocks(stmt)) continue;
    for_each_statement({stmt}, [&](const Stmt &inner) {
      auto *let = inner.as<Let>();
      if (let && let->value.op == Op::LocalLoad && own.contains(let->value.array) && !first[let->value.array])
        first[let->value.array] = &stmt;
    });
    if (auto *branch = stmt.as<If>())
      find_first_readers(branch->then_block, first), find_first_readers(branch->else_block, first);
    else if (auto *loop = stmt.as<For>())
      find_first_readers(loop->body, first);
    else if (auto *loop = stmt.as<While>())
      find_first_readers(loop->condition_block, first), find_first_readers(loop->body, first);
  }
}

}  // namespace

std::vector<LocalWrites> local_writes(std::initializer_list<const Block *> blocks) {
  Writers writers;
  for (const Block *block : blocks) writers.walk(*block, false);
  std::vector<LocalWrites> writes;
  for (auto &[array, entry] : writers.writes)
    if (!writers.own.contains(array)) writes.push_back(entry);
  return writes;
}

std::vector<LocalWrites> local_writes(const Stmt &stmt) {
  if (auto *store = stmt.as<LocalStore>()) return {{store->array, 1, false}};
  if (auto *branch = stmt.as<If>()) return local_writes({&branch->then_block, &branch->else_block});
  if (auto *loop = stmt.as<For>()) return local_writes({&loop->body});
  if (auto *loop = stmt.as<While>()) return local_writes({&loop->condition_block, &loop->body});
  return {};
}

std::vector<const Stmt *> first_readers(const Kernel &kernel) {
  std::vector<const Stmt *> first(kernel.local_array_count);
  find_first_readers(kernel.body, first);
  return first;
}

}  // namespace samite::autodiff
