#include "samite/passes/threads/sum_over_launch.h"

#include "samite/ir/visit.h"
#include "samite/passes/simplify/rewrite.h"

#include <algorithm>
#include <set>

namespace samite::passes {

using namespace ir;

namespace {

// Definitions in the outermost loop over the launch: all other indices are the same for all instances.
std::set<LocalId> defined_in_launch(const Kernel &lowered) {
  std::set<LocalId> inside;
  for (const Stmt &stmt : lowered.body) {
    auto *loop = stmt.as<For>();
    if (!loop || loop->kind == LoopKind::Serial) continue;
    for_each_statement({stmt}, [&](const Stmt &inner) {
      for_each_definition(inner, [&](LocalId local, Type) { inside.insert(local); });
    });
  }
  return inside;
}

}  // namespace

Kernel sum_over_launch(Kernel lowered) {
  if (is_tile_kernel(lowered)) return lowered;
  const std::set<LocalId> inside = defined_in_launch(lowered);
  const std::vector<bool> only_added_to = arrays_only_added_to(lowered);
  lowered.body = rewrite(lowered.body, [&](const Stmt &stmt) -> Stmt {
    auto *add = stmt.as<Accumulate>();
    if (!add || !only_added_to[add->array]) return stmt;
    const bool one_element = std::ranges::none_of(
        add->indices, [&](const Value &index) { return index.is_local() && inside.contains(index.id()); });
    if (!one_element) return stmt;
    Accumulate marked = *add;
    marked.over_launch = true;
    return {std::move(marked), stmt.where()};
  });
  return lowered;
}

bool sums_over_launch(const Kernel &marked) {
  bool found = false;
  for_each_statement(marked.body, [&](const Stmt &stmt) {
    auto *add = stmt.as<Accumulate>();
    found = found || (add && add->over_launch);
  });
  return found;
}

std::vector<bool> arrays_only_added_to(const Kernel &kernel) {
  std::vector<bool> only(kernel.parameters.size(), true);
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    if (auto array = array_read(stmt)) only[*array] = false;
    if (auto *store = stmt.as<Store>()) only[store->array] = false;
    if (auto *pack = stmt.as<StorePack>(); pack && pack->how != StorePack::How::atomic_add) only[pack->array] = false;
    if (auto *other = stmt.as<Accumulate>(); other && !other->atomic) only[other->array] = false;
  });
  return only;
}

}  // namespace samite::passes
