#include "samite/passes/simplify/dead_code.h"

#include "samite/ir/visit.h"

#include <algorithm>
#include <utility>

namespace samite::passes {
namespace {

using namespace ir;

// Needed statements, by place. A place is the number of a statement in the order of a walk, outer before inner.
class Liveness {
 public:
  explicit Liveness(const Kernel &kernel)
      : definition_(kernel.local_count), live_(kernel.local_count), arrays_(kernel.local_array_count) {
    index(kernel.body, none, none);
    need_effects(none, 0, places_.size());
    while (!pending_.empty()) {
      LocalId local = pending_.back();
      pending_.pop_back();
      need_definition(local);
    }
  }

  bool live(LocalId local) const { return live_[local]; }
  bool live_at(std::size_t place) const { return places_[place].needed; }
  std::size_t after(std::size_t place) const { return places_[place].end; }

  bool everything() const {
    return std::ranges::all_of(places_, [&](const Place &place) {
      bool stays = place.needed;
      if (const Let *let = place.stmt->as<Let>()) return stays && (let->value.op != Op::AtomicAdd || live_[let->local]);
      for_each_definition(*place.stmt, [&](LocalId local, Type) { stays = stays && may_stay(*place.stmt, local); });
      return stays;
    });
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0};

  struct Place {
    const Stmt *stmt;
    std::size_t parent;
    std::size_t
        later;  // the enclosing custom adjoint if this is in its replay or adjoint block, which the adjoint runs
    std::size_t end = 0;
    bool needed = false;
  };
  struct LocalArray {
    std::vector<std::size_t> makers;  // its allocation and the stores to it
    bool needed = false;
  };

  // Results and carried values may be dead even if their statement is needed.
  bool may_stay(const Stmt &stmt, LocalId local) const {
    const For *loop = stmt.as<For>();
    return live_[local] || stmt.as<CustomAdjoint>() || (loop && loop->index == local);
  }

  void index(const Block &block, std::size_t parent, std::size_t later) {
    for (const Stmt &stmt : block) {
      const std::size_t place = places_.size();
      places_.push_back({&stmt, parent, later});
      if (const Let *let = stmt.as<Let>()) {
        definition_[let->local] = place;
        places_[place].end = place + 1;
        continue;
      }
      for_each_definition(stmt, [&](LocalId local, Type) { definition_[local] = place; });
      if (auto *allocate = stmt.as<Allocate>()) arrays_[allocate->array].makers.push_back(place);
      if (auto *store = stmt.as<LocalStore>()) arrays_[store->array].makers.push_back(place);
      if (auto *branch = stmt.as<If>())
        index(branch->then_block, place, later), index(branch->else_block, place, later);
      else if (auto *loop = stmt.as<For>())
        index(loop->body, place, later);
      else if (auto *loop = stmt.as<While>())
        index(loop->condition_block, place, later), index(loop->body, place, later);
      else if (auto *custom = stmt.as<CustomAdjoint>())
        index(custom->primal, place, later), index(custom->replay, place, place), index(custom->adjoint, place, place);
      places_[place].end = places_.size();
    }
  }

  // Writes to arrays. Those in the replay and adjoint blocks of a custom adjoint are needed if it is.
  void need_effects(std::size_t later, std::size_t begin, std::size_t end) {
    for (std::size_t place = begin; place < end; ++place)
      if (places_[place].later == later && has_effect(*places_[place].stmt)) need_statement(place);
  }

  void need(const Value &value) {
    if (!value.is_local() || live_[value.id()]) return;
    live_[value.id()] = true;
    pending_.push_back(value.id());
  }

  // The statement must run, so enclosing ones must, too, and their conditions and bounds are needed.
  void need_statement(std::size_t number) {
    for (; number != none && !places_[number].needed; number = places_[number].parent) {
      places_[number].needed = true;
      const Stmt &stmt = *places_[number].stmt;
      if (const Let *let = stmt.as<Let>()) {
        for (const Value &operand : let->value.operands) need(operand);
        if (let->value.op == Op::LocalLoad) need_array(let->value.array);
      } else if (const If *branch = stmt.as<If>()) {
        need(branch->condition);
      } else if (const For *loop = stmt.as<For>()) {
        need(loop->begin), need(loop->end), need(loop->step);
      } else if (const While *loop = stmt.as<While>()) {
        need(loop->condition);
      } else {
        for_each_operand(stmt, [&](const Value &value) { need(value); });
      }
      if (stmt.as<CustomAdjoint>()) need_effects(number, number + 1, places_[number].end);
    }
  }

  void need_array(LocalArrayId array) {
    if (std::exchange(arrays_[array].needed, true)) return;
    for (std::size_t maker : arrays_[array].makers) need_statement(maker);
  }

  void need_definition(LocalId local) {
    const Stmt &stmt = *places_[definition_[local]].stmt;
    need_statement(definition_[local]);
    auto carried = [&](const std::vector<Carried> &values) {
      for (const Carried &value : values) {
        if (value.inner != local && value.result != local) continue;
        live_[value.inner] = live_[value.result] = true;
        need(value.initial), need(value.next);
      }
    };
    if (const If *branch = stmt.as<If>()) {
      for (const BranchResult &result : branch->results)
        if (result.local == local) need(result.then_value), need(result.else_value);
    } else if (const For *loop = stmt.as<For>()) {
      carried(loop->carried);
    } else if (const While *loop = stmt.as<While>()) {
      carried(loop->carried);
    }
  }

  std::vector<Place> places_;
  std::vector<std::size_t> definition_;  // by local: its definition
  std::vector<bool> live_;
  std::vector<LocalArray> arrays_;
  std::vector<LocalId> pending_;
};

std::vector<Carried> live_carried(const std::vector<Carried> &values, const Liveness &liveness) {
  std::vector<Carried> kept;
  for (const Carried &value : values)
    if (liveness.live(value.inner)) kept.push_back(value);
  return kept;
}

// An atomic addition whose previous value is unused.
Stmt addition(const Let &let, SourceLocation where) {
  auto indices = element_indices(let.value);
  return {Accumulate{let.value.array, {indices.begin(), indices.end()}, element_values(let.value)[0], true}, where};
}

// `place` is that of the block's first statement, and afterwards that of the statement after the block.
Block sweep(const Block &block, const Liveness &liveness, std::size_t &place) {
  Block kept;
  kept.reserve(block.size());
  for (const Stmt &stmt : block) {
    const std::size_t here = place++;
    if (!liveness.live_at(here)) {
      place = liveness.after(here);
      continue;
    }
    auto inside = [&](const Block &nested) { return sweep(nested, liveness, place); };
    visit(
        stmt,
        [&](const If &branch) {
          If swept{branch.condition, inside(branch.then_block), inside(branch.else_block), {}};
          for (const BranchResult &result : branch.results)
            if (liveness.live(result.local)) swept.results.push_back(result);
          kept.push_back({std::move(swept), stmt.where()});
        },
        [&](const For &loop) {
          kept.push_back({For{loop.index, loop.type, loop.begin, loop.end, loop.step, inside(loop.body),
                              live_carried(loop.carried, liveness), loop.kind, loop.stages},
                          stmt.where()});
        },
        [&](const While &loop) {
          kept.push_back({While{inside(loop.condition_block), loop.condition, inside(loop.body),
                                live_carried(loop.carried, liveness)},
                          stmt.where()});
        },
        [&](const CustomAdjoint &custom) {
          kept.push_back({CustomAdjoint{custom.results, inside(custom.primal), inside(custom.replay),
                                        inside(custom.adjoint), custom.replays, custom.operands},
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

std::optional<Block> without_dead_code(const Kernel &structured) {
  Liveness liveness(structured);
  if (liveness.everything()) return std::nullopt;
  std::size_t place = 0;
  return sweep(structured.body, liveness, place);
}

Kernel remove_dead_code(const Kernel &structured) {
  Kernel kept = structured;
  if (auto body = without_dead_code(structured)) kept.body = std::move(*body);
  return kept;
}

}  // namespace samite::passes
