#include "samite/passes/dead_code.h"

#include "samite/ir/visit.h"

#include <unordered_map>
#include <utility>

namespace samite::passes {
namespace {

using namespace ir;

class Liveness {
 public:
  explicit Liveness(const Kernel &kernel)
      : definition_(kernel.local_count), live_(kernel.local_count), arrays_(kernel.local_array_count) {
    index(kernel.body, nullptr);
    need_effects(kernel.body);
    while (!pending_.empty()) {
      LocalId local = pending_.back();
      pending_.pop_back();
      need_definition(local);
    }
  }

  bool live(LocalId local) const { return live_[local]; }
  bool live(const Stmt &stmt) const { return places_.at(&stmt).needed; }

 private:
  struct Place {
    std::vector<const Stmt *> parents;  // more than one where a node is shared between places
    bool needed = false;
  };
  struct LocalArray {
    std::vector<const Stmt *> makers;  // its allocation and the stores to it
    bool needed = false;
  };

  void index(const Block &block, const Stmt *parent) {
    for (const Stmt &stmt : block) {
      if (Place &place = places_[&stmt]; parent) place.parents.push_back(parent);
      for_each_definition(stmt, [&](LocalId local, ScalarType) { definition_[local] = &stmt; });
      if (auto *allocate = stmt.as<Allocate>()) arrays_[allocate->array].makers.push_back(&stmt);
      if (auto *store = stmt.as<LocalStore>()) arrays_[store->array].makers.push_back(&stmt);
      if (auto *branch = stmt.as<If>())
        index(branch->then_block, &stmt), index(branch->else_block, &stmt);
      else if (auto *loop = stmt.as<For>())
        index(loop->body, &stmt);
      else if (auto *loop = stmt.as<While>())
        index(loop->condition_block, &stmt), index(loop->body, &stmt);
      else if (auto *custom = stmt.as<CustomAdjoint>())
        index(custom->primal, &stmt), index(custom->replay, &stmt), index(custom->adjoint, &stmt);
    }
  }

  // What the block writes to arrays. What a computation's replay and adjoint write is needed where it is.
  void need_effects(const Block &block) {
    for (const Stmt &stmt : block) {
      if (has_effect(stmt)) need_statement(&stmt);
      if (auto *branch = stmt.as<If>())
        need_effects(branch->then_block), need_effects(branch->else_block);
      else if (auto *loop = stmt.as<For>())
        need_effects(loop->body);
      else if (auto *loop = stmt.as<While>())
        need_effects(loop->condition_block), need_effects(loop->body);
      else if (auto *custom = stmt.as<CustomAdjoint>())
        need_effects(custom->primal);
    }
  }

  void need(const Value &value) {
    if (!value.is_local() || live_[value.id()]) return;
    live_[value.id()] = true;
    pending_.push_back(value.id());
  }

  // The statement must run: so must those around it, with the values that steer them.
  void need_statement(const Stmt *stmt) {
    Place &place = places_.at(stmt);
    if (place.needed) return;
    place.needed = true;
    visit(
        *stmt, [&](const If &branch) { need(branch.condition); },
        [&](const For &loop) { need(loop.begin), need(loop.end), need(loop.step); },
        [&](const While &loop) { need(loop.condition); },
        [&](const auto &) { for_each_operand(*stmt, [&](const Value &value) { need(value); }); });
    if (auto *let = stmt->as<Let>(); let && let->value.op == Op::LocalLoad) need_array(let->value.array);
    if (auto *custom = stmt->as<CustomAdjoint>()) need_effects(custom->replay), need_effects(custom->adjoint);
    for (const Stmt *parent : place.parents) need_statement(parent);
  }

  void need_array(LocalArrayId array) {
    if (std::exchange(arrays_[array].needed, true)) return;
    for (const Stmt *maker : arrays_[array].makers) need_statement(maker);
  }

  void need_definition(LocalId local) {
    const Stmt *stmt = definition_[local];
    need_statement(stmt);
    auto carried = [&](const std::vector<Carried> &values) {
      for (const Carried &value : values) {
        if (value.inner != local && value.result != local) continue;
        live_[value.inner] = live_[value.result] = true;
        need(value.initial), need(value.next);
      }
    };
    visit(
        *stmt,
        [&](const If &branch) {
          for (const BranchResult &result : branch.results)
            if (result.local == local) need(result.then_value), need(result.else_value);
        },
        [&](const For &loop) { carried(loop.carried); }, [&](const While &loop) { carried(loop.carried); },
        [](const auto &) {});
  }

  std::vector<const Stmt *> definition_;
  std::vector<bool> live_;
  std::vector<LocalArray> arrays_;
  std::vector<LocalId> pending_;
  std::unordered_map<const Stmt *, Place> places_;
};

std::vector<Carried> live_carried(const std::vector<Carried> &values, const Liveness &liveness) {
  std::vector<Carried> kept;
  for (const Carried &value : values)
    if (liveness.live(value.inner)) kept.push_back(value);
  return kept;
}

// An atomic addition whose old value nobody reads.
Stmt addition(const Let &let, SourceLocation where) {
  auto indices = element_indices(let.value);
  return {Accumulate{let.value.array, {indices.begin(), indices.end()}, element_values(let.value)[0], true}, where};
}

Block sweep(const Block &block, const Liveness &liveness) {
  Block kept;
  for (const Stmt &stmt : block) {
    if (!liveness.live(stmt)) continue;
    visit(
        stmt,
        [&](const If &branch) {
          If swept{branch.condition, sweep(branch.then_block, liveness), sweep(branch.else_block, liveness), {}};
          for (const BranchResult &result : branch.results)
            if (liveness.live(result.local)) swept.results.push_back(result);
          kept.push_back({std::move(swept), stmt.where()});
        },
        [&](const For &loop) {
          kept.push_back({For{loop.index, loop.type, loop.begin, loop.end, loop.step, sweep(loop.body, liveness),
                              live_carried(loop.carried, liveness), loop.kind},
                          stmt.where()});
        },
        [&](const While &loop) {
          kept.push_back({While{sweep(loop.condition_block, liveness), loop.condition, sweep(loop.body, liveness),
                                live_carried(loop.carried, liveness)},
                          stmt.where()});
        },
        [&](const CustomAdjoint &custom) {
          kept.push_back({CustomAdjoint{custom.results, sweep(custom.primal, liveness), sweep(custom.replay, liveness),
                                        sweep(custom.adjoint, liveness), custom.replays, custom.operands},
                          stmt.where()});
        },
        [&](const Let &let) {
          kept.push_back(let.value.op == Op::AtomicAdd && !liveness.live(let.local) ? addition(let, stmt.where())
                                                                                    : stmt);
        },
        [&](const auto &) { kept.push_back(stmt); });
  }
  return kept;
}

}  // namespace

Kernel remove_dead_code(const Kernel &structured) {
  Liveness liveness(structured);
  Kernel kept = structured;
  kept.body = sweep(structured.body, liveness);
  return kept;
}

}  // namespace samite::passes
