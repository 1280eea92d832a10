#include "samite/passes/tiles/plan_element_loops.h"

#include "samite/ir/visit.h"
#include "samite/passes/analysis/grouped_elements.h"
#include "samite/passes/analysis/op_cost.h"
#include "samite/passes/analysis/row_values.h"
#include "samite/passes/analysis/tile_uses.h"
#include "samite/passes/simplify/rewrite.h"

#include <algorithm>
#include <utility>

namespace samite::passes {
namespace {

using namespace ir;

// For a loop that rotates a thread's registers: the elements per iteration, after which all registers move. With few,
// each register moves many times: two at a time, the 128 sums of a thread cost 8000 moves, while the whole product of a
// tile takes 50 microseconds. With many, there are as many branches, which take the compiler long. So each register
// moves at most eight times, if 16 elements suffice for that.
int front_of_rotation(const FragmentLayout &layout) {
  constexpr std::int64_t most = 16, moves = 8;
  const std::int64_t together = layout.together(), all = layout.registers();
  std::int64_t front = together;
  for (std::int64_t more = 2 * together; more <= most && front * moves < all; more += together)
    if (all % more == 0) front = more;
  return static_cast<int>(front);
}

class Planner {
 public:
  Planner(const Kernel &kernel, const FactsOfArrays &arrays, bool debug)
      : forms_(kernel),
        arrays_(arrays),
        debug_(debug),
        threads_(kernel.block_threads),
        in_registers_(kernel.scheduled ? std::map<LocalArrayId, FragmentLayout>() : layouts_in_registers(kernel)) {}

  ElementPlan planned(const For &loop) const {
    const std::set<LocalArrayId> tiles = tiles_of_loop(loop, in_registers_);
    if (tiles.empty()) return planned_in_memory(loop);
    if (debug_) return {};
    const FragmentLayout &layout = in_registers_.at(*tiles.begin());
    // Hoists per-row values, unless the loop rotates its registers anyway.
    if (const auto rows = row_values(loop, layout)) {
      const GroupedElements grouped = grouped_elements(forms_, rows->loop, layout, arrays_);
      if (!grouped.rotates) return as_plan(grouped, layout, /*by_rows=*/true);
    }
    return as_plan(grouped_elements(forms_, loop, layout, arrays_), layout, /*by_rows=*/false);
  }

 private:
  ElementPlan planned_in_memory(const For &loop) const {
    ElementPlan plan;
    if (!loop.end.is_constant() || loop.end.as_int() <= threads_) return plan;
    const std::int64_t iterations = (loop.end.as_int() + threads_ - 1) / threads_;
    const std::int64_t together = turns_together(loop.body, iterations);
    if (together < iterations) plan.interleaved = static_cast<int>(together);
    return plan;
  }

  static ElementPlan as_plan(const GroupedElements &grouped, const FragmentLayout &layout, bool by_rows) {
    ElementPlan plan{.by_rows = by_rows};
    using Kind = ElementPlan::Group::Kind;
    const auto add = [&](Kind kind, const auto &own) {
      plan.groups.push_back({.kind = kind,
                             .array = own.local ? 0 : own.access->array,
                             .load = own.local,
                             .along_rows = own.rows,
                             .in_quads = own.in_quads,
                             .in_units = own.in_units,
                             .unrounded = own.unrounded,
                             .bound = own.bound});
    };
    for (const auto &own : grouped.loads) add(Kind::load, own);
    for (const auto &own : grouped.stores) add(Kind::store, own);
    for (const auto &own : grouped.additions) add(Kind::add, own);
    plan.bounds.assign(grouped.bounds.begin(), grouped.bounds.end());
    plan.in_packs = grouped.in_packs;
    if (!grouped.empty() && !grouped.once) plan.corners = grouped.all_corners ? 4 : 2;
    if (grouped.rotates) plan.rotates = front_of_rotation(layout);
    return plan;
  }

  const IndexForms forms_;
  const FactsOfArrays &arrays_;
  const bool debug_;
  const std::int64_t threads_;
  const std::map<LocalArrayId, FragmentLayout> in_registers_;
};

}  // namespace

std::set<LocalArrayId> tiles_of_loop(const For &loop, const std::map<LocalArrayId, FragmentLayout> &in_registers) {
  std::set<LocalArrayId> found, of_rows;
  for_each_statement(loop.body, [&](const Stmt &stmt) {
    const auto array = local_array_touched(stmt);
    const auto layout = array ? in_registers.find(*array) : in_registers.end();
    if (layout == in_registers.end() || layout->second.in_every_thread()) return;
    (layout->second.repeats() ? of_rows : found).insert(*array);
  });
  return found.empty() ? of_rows : found;
}

Kernel plan_element_loops(Kernel planned, const FactsOfArrays &arrays, bool debug) {
  if (!is_tile_kernel(planned)) return planned;
  const Planner planner(planned, arrays, debug);
  Block body = rewrite(planned.body, [&](const Stmt &stmt) -> Stmt {
    const auto *loop = stmt.as<For>();
    if (!loop || loop->kind != LoopKind::Thread) return stmt;
    For copy = *loop;
    copy.elements = planner.planned(*loop);
    return {std::move(copy), stmt.where()};
  });
  planned.body = std::move(body);
  return planned;
}

}  // namespace samite::passes
