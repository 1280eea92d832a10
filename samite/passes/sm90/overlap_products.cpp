#include "samite/passes/sm90/overlap_products.h"

#include "samite/ir/loop_products.h"
#include "samite/passes/simplify/rewrite.h"

#include <set>

namespace samite::passes {
namespace {

using namespace ir;

For overlapped(For loop) {
  const std::vector<std::size_t> places = window_products(loop);
  const std::vector<LoopProduct> &products = loop.products.declared;
  std::set<LocalArrayId> in_flight;  // sums
  for (std::size_t n = 0; n + 1 < places.size(); ++n) {
    const LoopProduct &next = products[n + 1];
    in_flight.insert(products[n].result);
    const bool directly = places[n + 1] == places[n] + 1;
    if (!directly || in_flight.contains(next.result) || in_flight.contains(next.factors[0].tile)) {
      in_flight.clear();
      continue;
    }
    Stmt &stmt = loop.body[places[n]];
    WindowProduct product = *stmt.as<WindowProduct>();
    product.runs_into = next.result;
    stmt = {std::move(product), stmt.where()};
  }
  return loop;
}

}  // namespace

Kernel overlap_products(Kernel with_roles) {
  if (with_roles.roles.producers == 0) return with_roles;
  with_roles.body = rewrite(with_roles.body, [](const Stmt &stmt) -> Stmt {
    const auto *loop = stmt.as<For>();
    return loop ? Stmt(overlapped(*loop), stmt.where()) : stmt;
  });
  return with_roles;
}

}  // namespace samite::passes
