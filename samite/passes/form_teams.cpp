#include "samite/passes/form_teams.h"

#include "samite/ir/visit.h"
#include "samite/passes/launch_loops.h"
#include "samite/passes/plan_tile_memory.h"

#include <vector>

namespace samite::passes {
namespace {

using namespace ir;

constexpr int teams = 2, group = 128;
// Of a thread's sums: so many leave enough of the registers that a thread of two teams has for all else.
constexpr std::int64_t most_sums = 128;

bool is_loop(const Stmt &stmt) {
  const auto *call = stmt.as<TileCall>();
  return (call && call->is_product_loop()) || stmt.as<BringWindows>();
}

// The first loop of products, where nothing but branches and plain loops is around it within an index of the launch.
const TileCall *loop_of(const Block &block) {
  for (const Stmt &stmt : block) {
    if (is_loop(stmt)) return stmt.as<TileCall>();
    const auto *loop = stmt.as<For>();
    const auto *branch = stmt.as<If>();
    const TileCall *found = loop && loop->kind == LoopKind::Serial ? loop_of(loop->body)
                            : branch                               ? loop_of(branch->then_block)
                                                                   : nullptr;
    if (!found && branch) found = loop_of(branch->else_block);
    if (found) return found;
  }
  return nullptr;
}

bool has_one_whole_loop(const Kernel &kernel) {
  const std::vector<const For *> launch = launch_loops(kernel.body, kernel.launch_rank);
  if (launch.empty()) return false;
  int loops = 0;
  for_each_statement(kernel.body, [&](const Stmt &stmt) { loops += is_loop(stmt); });
  const TileCall *call = loop_of(launch.back()->body);
  return loops == 1 && call && !call->is_step() && !call->terms && call->sums->registers() <= most_sums;
}

}  // namespace

Kernel form_teams(Kernel with_roles, const Architecture &architecture) {
  if (with_roles.producers == 0 || with_roles.block_threads != group || !has_one_whole_loop(with_roles))
    return with_roles;
  Kernel in_teams = with_roles;
  in_teams.teams = teams;
  return fits(plan_tile_memory(in_teams), architecture) ? in_teams : with_roles;
}

}  // namespace samite::passes
