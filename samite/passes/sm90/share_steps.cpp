#include "samite/passes/sm90/share_steps.h"

#include "samite/ir/visit.h"
#include "samite/passes/analysis/launch_loops.h"
#include "samite/passes/analysis/plan_refused.h"
#include "samite/passes/simplify/rewrite.h"
#include "samite/passes/sm90/form_teams.h"
#include "samite/passes/sm90/planned_products.h"
#include "samite/passes/threads/place_arrays.h"
#include "samite/passes/threads/sum_over_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

namespace samite::passes {
namespace {

using namespace ir;

std::map<LocalArrayId, const Allocate *> memory_of(const Kernel &kernel) {
  std::map<LocalArrayId, const Allocate *> memory;
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    if (const auto *allocate = stmt.as<Allocate>()) memory.emplace(allocate->array, allocate);
  });
  return memory;
}

// Whether several blocks may run a statement redundantly.
bool may_repeat(const Stmt &stmt) {
  bool may = true;
  for_each_statement({stmt}, [&](const Stmt &own) { may = may && !has_effect(own); });
  return may;
}

// Whether a statement zeroes the memory, or does not access it.
bool leaves_zero(const Stmt &stmt, LocalArrayId array) {
  bool zero = true;
  for_each_statement({stmt}, [&](const Stmt &own) {
    if (const TileMemory *result = result_of(own)) {
      zero = zero && result->array != array;
    } else if (local_array_touched(own) == array) {
      const auto *store = own.as<LocalStore>();
      zero = zero && store && store->value.is_constant(0);
    }
  });
  return zero;
}

// A ring of the loop that has room for the sums of all threads, by which the blocks of a cluster pass them to the
// first.
std::optional<LocalArrayId> memory_for_sums(const Kernel &kernel, const MainLoop &loop) {
  const std::map<LocalArrayId, const Allocate *> memory = memory_of(kernel);
  constexpr std::int64_t word = 4, unit = 4;
  const auto *sums = std::get_if<FragmentLayout>(&memory.at(loop.result.array)->layout);
  if (!sums || size_of(loop.result.type.element()) != word || sums->registers() % unit != 0) return std::nullopt;
  for (const Transfer &factor : loop.factors) {
    const Allocate &ring = *memory.at(factor.ring.array);
    const std::int64_t bytes =
        ring.stages * buffer_bytes(ring.layout, ring.type.element(), ring.size.as_int(), ring.stages);
    if (bytes >= word * sums->registers() * kernel.block_threads) return ring.array;
  }
  return std::nullopt;
}

bool may_share(const Kernel &kernel) {
  const MainLoop *main = only_whole_loop(kernel).main;
  if (!main || main->is_step() || !memory_for_sums(kernel, *main)) return false;
  const Block &body = launch_loops(kernel.body, kernel.launch_rank).back()->body;
  const auto loop = std::ranges::find_if(body, [&](const Stmt &stmt) { return stmt.as<MainLoop>() == main; });
  return loop != body.end() && std::all_of(body.begin(), loop, [&](const Stmt &stmt) {
           return may_repeat(stmt) && leaves_zero(stmt, main->result.array);
         });
}

// The reason that the blocks of a cluster cannot share the steps of the main loop. Empty if they can.
std::string why_no_parts(const Kernel &kernel, const Architecture &architecture, std::int64_t parts) {
  if (!architecture.clusters || !has_product_loops(kernel)) return why_no_producers(kernel, architecture);
  if (parts > most_step_parts) return fmt::format("a cluster has at most {} blocks", most_step_parts);
  if (kernel.roles.teams != 0) return "a block has teams";
  if (kernel.grid.cluster_blocks != 0) return "blocks load windows for each other in clusters";
  // Excludes blocks that take several indices each.
  if (uses_workspace(kernel) || sums_over_launch(kernel)) return "a block computes several indices of the launch";
  if (!may_share(kernel))
    return "the blocks of a cluster need one main loop at the outermost level, with register sums that start at zero "
           "and fit its buffers";
  return "";
}

}  // namespace

Kernel share_steps(Kernel with_roles, const Architecture &architecture, std::int64_t parts) {
  const bool asked = with_roles.plan.parts_in_cluster == 1 && parts > 1;
  const std::string why_not = parts > 1 ? why_no_parts(with_roles, architecture, parts) : "";
  if (asked && !why_not.empty()) {
    TilePlan nearest = with_roles.plan;
    nearest.parts_in_cluster = 0;
    throw PlanRefused(with_roles, fmt::format("parts {} in a cluster", parts), why_not, nearest);
  }
  if (parts > 1 && why_not.empty()) {
    const std::optional<LocalArrayId> memory = memory_for_sums(with_roles, *only_whole_loop(with_roles).main);
    with_roles.grid.step_parts = static_cast<int>(parts);
    with_roles.plan.parts = static_cast<int>(parts), with_roles.plan.parts_in_cluster = 1;
    with_roles.body = rewrite(with_roles.body, [&](const Stmt &stmt) -> Stmt {
      const auto *loop = stmt.as<MainLoop>();
      if (!loop) return stmt;
      MainLoop own = *loop;
      own.sums_through = memory;
      return {std::move(own), stmt.where()};
    });
  } else if (!with_roles.plan.parts && loop_of_index(with_roles).main) {
    with_roles.plan.parts = 1;
  }
  return with_roles;
}

std::int64_t parts_of_steps(std::int64_t blocks, std::int64_t steps, int multiprocessors) {
  // The percentage of multiprocessors on which clusters of 2, 3, … blocks find room: a cluster is in one part of the
  // device, and parts differ in size. An H200 with 132 has room for 66, 39, 30, 22, 17, 15 and 15 clusters. One too
  // many would wait for the others to finish.
  constexpr std::int64_t with_room[most_step_parts - 1] = {100, 86, 88, 80, 75, 70, 85};
  // Clusters take about 15 steps of a loop longer to start and to reduce the sums.
  constexpr std::int64_t least_saved = 16;
  for (std::int64_t parts = most_step_parts; parts > 1; --parts) {
    const std::int64_t each = (steps + parts - 1) / parts;
    const bool fits = blocks * parts * 100 <= with_room[parts - 2] * multiprocessors;
    const bool all_have_some = (parts - 1) * each < steps;
    if (blocks > 0 && fits && all_have_some && steps - each >= least_saved) return parts;
  }
  return 1;
}

}  // namespace samite::passes
