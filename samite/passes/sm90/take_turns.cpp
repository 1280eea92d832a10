#include "samite/passes/sm90/take_turns.h"

#include "samite/ir/loop_products.h"
#include "samite/ir/visit.h"
#include "samite/passes/simplify/rewrite.h"
#include "samite/passes/sm90/group_sums.h"

#include <vector>

namespace samite::passes {
namespace {

using namespace ir;

// The loop with turns; empty if it does not qualify.
std::optional<For> in_turns(const For &loop) {
  const std::vector<std::size_t> products = window_products(loop);
  if (products.size() != 2) return std::nullopt;
  const std::size_t before = products.front(), last = products.back();
  bool between = false, all_meet = false;
  for (std::size_t i = before + 1; i < last; ++i) between = between || loop.body[i].as<For>();
  // A group would wait at the barrier for the others, and they for its turn.
  for_each_statement(loop.body, [&](const Stmt &stmt) { all_meet = all_meet || stmt.as<Barrier>(); });
  if (!between || all_meet) return std::nullopt;
  For made = loop;
  made.products.in_turns = true;
  const auto change = [&](std::size_t i, bool WindowProduct::*turn) {
    WindowProduct product = *loop.body[i].as<WindowProduct>();
    product.*turn = true;
    made.body[i] = {std::move(product), loop.body[i].where()};
  };
  change(before, &WindowProduct::gives_turn);
  change(last, &WindowProduct::takes_turn);
  return made;
}

}  // namespace

Kernel take_turns(Kernel with_roles) {
  if (with_roles.roles.producers == 0 || with_roles.block_threads < 2 * threads_of_group) return with_roles;
  with_roles.body = rewrite(with_roles.body, [&](const Stmt &stmt) -> Stmt {
    const auto *loop = stmt.as<For>();
    auto made = loop ? in_turns(*loop) : std::nullopt;
    return made ? Stmt(*std::move(made), stmt.where()) : stmt;
  });
  return with_roles;
}

int groups_in_turns(const Kernel &kernel) {
  bool found = false;
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    const auto *loop = stmt.as<For>();
    found = found || (loop && loop->products.in_turns);
  });
  return found ? kernel.block_threads / threads_of_group : 0;
}

}  // namespace samite::passes
