#include "samite/passes/sm90/form_teams.h"

#include "samite/ir/visit.h"
#include "samite/passes/analysis/index_forms.h"
#include "samite/passes/analysis/launch_loops.h"
#include "samite/passes/simplify/rewrite.h"
#include "samite/passes/sm90/group_sums.h"
#include "samite/passes/sm90/planned_products.h"
#include "samite/passes/tiles/plan_tile_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace samite::passes {
namespace {

using namespace ir;

constexpr int teams = 2;
// A limit of a thread's sums that leaves enough of its registers, with two teams, for the rest.
constexpr std::int64_t most_sums = 128;

const MainLoop *find_loop(const Block &block, std::vector<const For *> &around) {
  for (const Stmt &stmt : block) {
    const auto *main = stmt.as<MainLoop>();
    if (main && main->by_bulk_copies()) return main;
    const MainLoop *found = nullptr;
    if (const auto *loop = stmt.as<For>()) {
      around.push_back(loop);
      found = find_loop(loop->body, around);
      if (!found) around.pop_back();
    }
    if (const auto *branch = stmt.as<If>()) {
      found = find_loop(branch->then_block, around);
      if (!found) found = find_loop(branch->else_block, around);
    }
    if (found) return found;
  }
  return nullptr;
}

// The first main loop for an index of the launch.
LoopOfIndex loop_of_index(const Kernel &kernel) {
  const std::vector<const For *> launch = launch_loops(kernel.body, kernel.launch_rank);
  LoopOfIndex found;
  if (!launch.empty()) found.main = find_loop(launch.back()->body, found.around);
  return found;
}

// Whether only branches and plain loops enclose its loop.
bool teams_may_run(const Kernel &kernel) {
  const LoopOfIndex loop = only_whole_loop(kernel);
  return loop.main && loop.main->sums.registers() <= most_sums &&
         std::ranges::all_of(loop.around, [](const For *one) { return one->kind == LoopKind::Serial; });
}

// Whether each index runs its loop once, with equal steps: then teams need not pass on the position in the ring.
bool has_equal_turns(const Kernel &kernel) {
  const MainLoop *main = only_whole_loop(kernel).main;
  const std::vector<const For *> launch = launch_loops(kernel.body, kernel.launch_rank);
  if (!main || launch.empty()) return false;
  const Block &of_index = launch.back()->body;
  if (std::ranges::none_of(of_index, [&](const Stmt &stmt) { return stmt.as<MainLoop>() == main; })) return false;
  const IndexForms forms(kernel);
  return !main->count ||
         std::ranges::all_of(launch, [&](const For *dimension) { return forms.same_in(*main->count, *dimension); });
}

}  // namespace

LoopOfIndex only_whole_loop(const Kernel &kernel) {
  int loops = 0;
  for_each_statement(kernel.body,
                     [&](const Stmt &stmt) { loops += multiplies_by_groups(stmt) || stmt.as<BringWindows>(); });
  LoopOfIndex loop = loop_of_index(kernel);
  const bool whole = loops == 1 && loop.main && !loop.main->terms;
  return whole ? loop : LoopOfIndex();
}

Kernel form_teams(Kernel with_roles, const Architecture &architecture) {
  if (with_roles.roles.producers == 0 || with_roles.grid.step_parts != 0 ||
      with_roles.block_threads != threads_of_group || !teams_may_run(with_roles))
    return with_roles;
  Kernel in_teams = with_roles;
  in_teams.roles.teams = teams;
  if (!fits(plan_tile_memory(in_teams), architecture)) return with_roles;
  in_teams.roles.equal_turns = has_equal_turns(with_roles);
  std::vector<LocalId> around;
  for (const For *loop : loop_of_index(with_roles).around) around.push_back(loop->index);
  in_teams.body = rewrite(in_teams.body, [&](const Stmt &stmt) -> Stmt {
    const auto *loop = stmt.as<MainLoop>();
    if (!loop) return stmt;
    MainLoop own = *loop;
    own.hands_over_in = around;
    return {std::move(own), stmt.where()};
  });
  return in_teams;
}

}  // namespace samite::passes
