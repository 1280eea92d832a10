#include "samite/passes/sm90/form_teams.h"

#include "samite/ir/visit.h"
#include "samite/passes/analysis/index_forms.h"
#include "samite/passes/analysis/launch_loops.h"
#include "samite/passes/analysis/plan_refused.h"
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

// The reason that a kernel does not qualify, besides the room for its tiles. Empty if it does.
std::string why_no_teams(const Kernel &kernel, const Architecture &architecture) {
  if (kernel.roles.producers == 0) return why_no_producers(kernel, architecture);
  if (kernel.grid.step_parts != 0)
    return fmt::format("the {} blocks of a cluster share the steps of its main loop", kernel.grid.step_parts);
  if (kernel.block_threads != threads_of_group)
    return fmt::format("a block has {} threads, and a team is one warp group of {}", kernel.block_threads,
                       threads_of_group);
  if (!teams_may_run(kernel))
    return fmt::format("teams need one main loop that only multiplies, with at most {} sums of a thread", most_sums);
  return "";
}

Kernel in_one_team(Kernel kernel) {
  kernel.plan.teams = 1;
  return kernel;
}

Kernel in_two_teams(Kernel kernel) {
  const bool equal = has_equal_turns(kernel);
  std::vector<LocalId> around;
  for (const For *loop : loop_of_index(kernel).around) around.push_back(loop->index);
  kernel.roles.teams = teams;
  kernel.roles.equal_turns = equal;
  kernel.plan.teams = teams;
  kernel.body = rewrite(kernel.body, [&](const Stmt &stmt) -> Stmt {
    const auto *loop = stmt.as<MainLoop>();
    if (!loop) return stmt;
    MainLoop own = *loop;
    own.hands_over_in = around;
    return {std::move(own), stmt.where()};
  });
  return kernel;
}

}  // namespace

LoopOfIndex loop_of_index(const Kernel &kernel) {
  const std::vector<const For *> launch = launch_loops(kernel.body, kernel.launch_rank);
  LoopOfIndex found;
  if (!launch.empty()) found.main = find_loop(launch.back()->body, found.around);
  return found;
}

LoopOfIndex only_whole_loop(const Kernel &kernel) {
  int loops = 0;
  for_each_statement(kernel.body,
                     [&](const Stmt &stmt) { loops += multiplies_by_groups(stmt) || stmt.as<BringWindows>(); });
  LoopOfIndex loop = loop_of_index(kernel);
  const bool whole = loops == 1 && loop.main && !loop.main->terms;
  return whole ? loop : LoopOfIndex();
}

Kernel form_teams(Kernel with_roles, const Architecture &architecture, bool several_waves) {
  const bool asked = with_roles.plan.teams == teams;
  if (!asked && !loop_of_index(with_roles).main) return with_roles;
  if (!asked && (with_roles.plan.teams || !several_waves)) return in_one_team(std::move(with_roles));
  std::string why_not = why_no_teams(with_roles, architecture);
  if (why_not.empty()) {
    Kernel in_teams = in_two_teams(with_roles);
    if (fits(plan_tile_memory(in_teams), architecture)) return in_teams;
    why_not = "a block's shared memory has no room for the tiles of two teams";
  }
  if (!asked) return in_one_team(std::move(with_roles));
  TilePlan nearest = with_roles.plan;
  nearest.teams = 1;
  throw PlanRefused(with_roles, fmt::format("teams {}", teams), why_not, nearest);
}

}  // namespace samite::passes
