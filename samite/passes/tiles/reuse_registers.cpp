#include "samite/passes/tiles/reuse_registers.h"

#include "samite/ir/visit.h"
#include "samite/passes/analysis/tile_uses.h"
#include "samite/passes/simplify/rename.h"
#include "samite/passes/simplify/rewrite.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace samite::passes {
namespace {

using namespace ir;

using Names = std::map<LocalArrayId, LocalArrayId>;

// The register tiles that a loop over elements accesses only at its own index.
struct Own {
  std::set<LocalArrayId> loaded, stored;
  std::set<LocalArrayId> elsewhere;      // also accessed at another index
  std::set<LocalArrayId> loaded_behind;  // after any store
};
Own own_of(const For &loop) {
  Own own;
  for_each_statement(loop.body, [&](const Stmt &stmt) {
    const auto *let = stmt.as<Let>();
    const auto *store = stmt.as<LocalStore>();
    const auto array = local_array_touched(stmt);
    if (!array) return;
    const Value index = store ? store->index : let->value.operands[0];
    if (!index.is_local() || index.id() != loop.index) own.elsewhere.insert(*array);
    if (!store && !own.stored.empty()) own.loaded_behind.insert(*array);
    (store ? own.stored : own.loaded).insert(*array);
  });
  return own;
}

class Reuse {
 public:
  explicit Reuse(const Block &block) : block_(block) {
    for (const Stmt &stmt : block)
      if (const auto *allocate = stmt.as<Allocate>(); allocate && allocate->space == MemorySpace::registers &&
                                                      std::holds_alternative<FragmentLayout>(allocate->layout))
        allocated_.emplace(allocate->array, allocate);
  }

  Names names() {
    Names names;
    for (std::size_t i = 0; i < block_.size(); ++i) {
      const auto *loop = block_[i].as<For>();
      if (!loop || loop->kind != LoopKind::Thread) continue;
      const Own own = own_of(*loop);
      for (const LocalArrayId made : own.stored)
        if (const auto of = place_for(made, own, i)) {
          const auto before = names.find(*of);
          names.emplace(made, before == names.end() ? *of : before->second);
          taken_.insert(*of);
        }
    }
    return names;
  }

 private:
  // The tile whose registers a tile of the loop, the `at`-th statement, can reuse.
  std::optional<LocalArrayId> place_for(LocalArrayId made, const Own &own, std::size_t at) const {
    const auto mine = allocated_.find(made);
    if (mine == allocated_.end() || own.elsewhere.contains(made) || own.loaded.contains(made) ||
        std::any_of(block_.begin(), block_.begin() + static_cast<std::ptrdiff_t>(at),
                    [&](const Stmt &stmt) { return touches_tile(stmt, made); }))
      return std::nullopt;
    for (const LocalArrayId of : own.loaded) {
      const auto known = allocated_.find(of);
      if (known == allocated_.end() || own.elsewhere.contains(of) || own.stored.contains(of) ||
          own.loaded_behind.contains(of) || taken_.contains(of) || known->second->type != mine->second->type ||
          known->second->layout != mine->second->layout)
        continue;
      if (std::none_of(block_.begin() + static_cast<std::ptrdiff_t>(at) + 1, block_.end(),
                       [&](const Stmt &stmt) { return touches_tile(stmt, of); }))
        return of;
    }
    return std::nullopt;
  }

  const Block &block_;
  std::map<LocalArrayId, const Allocate *> allocated_;
  std::set<LocalArrayId> taken_;
};

Stmt renamed(const Stmt &stmt, const Names &names) {
  return on_tiles(stmt, [&](LocalArrayId array) {
    const auto known = names.find(array);
    return known == names.end() ? array : known->second;
  });
}

// `names`: those that tiles of this block get.
Block reused(const Block &block, const Names &names) {
  Block made;
  for (const Stmt &stmt : block) {
    const auto *allocate = stmt.as<Allocate>();
    if (allocate && names.contains(allocate->array)) continue;
    if (stmt.as<If>()) {
      made.push_back(with_blocks(stmt, [](const Block &side) { return reused(side, Reuse(side).names()); }));
    } else if (const auto *loop = stmt.as<For>()) {
      For copy = *loop;
      const Names inside = Reuse(loop->body).names();
      copy.body = reused(loop->body, inside);
      made.push_back(renamed({std::move(copy), stmt.where()}, inside));  // also in its declaration
    } else {
      made.push_back(stmt);
    }
  }
  if (names.empty()) return made;
  return rewrite(made, [&](const Stmt &stmt) { return renamed(stmt, names); });
}

}  // namespace

Kernel reuse_registers(Kernel placed) {
  if (is_tile_kernel(placed)) placed.body = reused(placed.body, Reuse(placed.body).names());
  return placed;
}

}  // namespace samite::passes
