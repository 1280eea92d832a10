#include "samite/passes/sm90/overlap_products.h"

#include "samite/ir/visit.h"
#include "samite/passes/simplify/rewrite.h"

#include <set>

namespace samite::passes {
namespace {

using namespace ir;

Block overlapped(Block block) {
  std::set<LocalArrayId> on_their_way;
  for (std::size_t i = 0; i + 1 < block.size(); ++i) {
    const auto *own = block[i].as<WindowProduct>(), *next = block[i + 1].as<WindowProduct>();
    if (own) on_their_way.insert(own->result.array);
    if (!own || !next || on_their_way.contains(next->result.array) || on_their_way.contains(next->first.array)) {
      on_their_way.clear();
      continue;
    }
    WindowProduct product = *own;
    product.runs_into = next->result.array;
    block[i] = {std::move(product), block[i].where()};
  }
  return block;
}

}  // namespace

Kernel overlap_products(Kernel with_roles) {
  if (with_roles.producers == 0) return with_roles;
  with_roles.body = rewrite(with_roles.body, [](const Stmt &stmt) -> Stmt {
    const auto *loop = stmt.as<For>();
    if (!loop) return stmt;
    For made = *loop;
    made.body = overlapped(made.body);
    return {std::move(made), stmt.where()};
  });
  return with_roles;
}

}  // namespace samite::passes
