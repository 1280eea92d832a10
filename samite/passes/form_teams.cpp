#include "samite/passes/form_teams.h"

#include "samite/ir/visit.h"
#include "samite/passes/index_forms.h"
#include "samite/passes/launch_loops.h"
#include "samite/passes/plan_tile_memory.h"

#include <algorithm>

namespace samite::passes {
namespace {

using namespace ir;

constexpr int teams = 2, group = 128;
// Of a thread's sums: so many leave enough of the registers that a thread of two teams has for all else.
constexpr std::int64_t most_sums = 128;

// Whether its one loop is there for every index of the launch, with as many steps.
bool loops_are_the_same(const Kernel &kernel) {
  const std::vector<const For *> launch = launch_loops(kernel.body, kernel.launch_rank);
  if (launch.empty()) return false;
  int loops = 0;
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    const auto *call = stmt.as<TileCall>();
    loops += (call && call->is_product_loop()) || stmt.as<BringWindows>();
  });
  if (loops != 1) return false;
  const IndexForms forms(kernel);
  return std::ranges::any_of(launch.back()->body, [&](const Stmt &stmt) {
    const auto *call = stmt.as<TileCall>();
    return call && call->is_product_loop() && !call->is_step() && !call->terms &&
           call->sums->registers() <= most_sums &&
           std::ranges::all_of(launch, [&](const For *dimension) { return forms.same_in(*call->count, *dimension); });
  });
}

}  // namespace

Kernel form_teams(Kernel with_roles, const Architecture &architecture) {
  if (with_roles.producers == 0 || with_roles.block_threads != group || !loops_are_the_same(with_roles))
    return with_roles;
  Kernel in_teams = with_roles;
  in_teams.teams = teams;
  return fits(plan_tile_memory(in_teams), architecture) ? in_teams : with_roles;
}

}  // namespace samite::passes
