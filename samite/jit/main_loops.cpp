#include "samite/jit/main_loops.h"

#include "samite/ir/visit.h"
#include "samite/passes/analysis/plan_refused.h"
#include "samite/passes/sm90/assign_roles.h"
#include "samite/passes/sm90/product_loops.h"
#include "samite/passes/tiles/plan_tile_memory.h"
#include "samite/passes/tiles/planned_tile.h"

#include <fmt/format.h>

#include <algorithm>

namespace samite::jit {
namespace {

constexpr int most_stages_of_others = 4;  // of loops that are not declared pipelined

// The kernel after the steps that determine its memory.
ir::Kernel placed(const ir::Kernel &kernel, const PlanContext &context) {
  if (context.trials) ++*context.trials;
  return run_steps(kernel, {context.target, context.arrays, context.choices, /*trial=*/true}, "place_tiles",
                   "pipeline_loops");
}

std::int64_t bytes_too_many_when_placed(const ir::Kernel &kernel, const PlanContext &context) {
  return passes::bytes_too_many(passes::plan_tile_memory(placed(kernel, context)), context.target);
}

// Whether a block gets producers, for which its tiles must fit shared memory.
bool has_roles_when_placed(const ir::Kernel &kernel, const PlanContext &context) {
  return passes::assign_roles(placed(kernel, context), context.target, context.arrays).roles.producers > 0;
}

int loops_in(const ir::Kernel &kernel) {
  int loops = 0;
  ir::for_each_statement(kernel.body, [&](const ir::Stmt &stmt) { loops += ir::multiplies_by_groups(stmt); });
  return loops;
}

// The bytes of one stage of all main loops.
std::int64_t bytes_of_stage(const ir::Kernel &loops) {
  std::int64_t bytes = 0;
  ir::for_each_statement(loops.body, [&](const ir::Stmt &stmt) {
    const auto *loop = stmt.as<ir::MainLoop>();
    if (!loop) return;
    bytes += passes::bytes_of_barriers(1);
    for (const ir::Transfer &factor : loop->factors)
      bytes += factor.ring.type.count() * static_cast<std::int64_t>(size_of(factor.ring.type.element()));
  });
  return bytes;
}

// The most stages that may fit if this many do not: exact for one loop, and not too few for several, some of which are
// not alive at the same time.
int fewer_stages(int stages, std::int64_t bytes_too_many, std::int64_t bytes_of_stage) {
  const std::int64_t left = stages - std::max<std::int64_t>((bytes_too_many + bytes_of_stage - 1) / bytes_of_stage, 1);
  return left < 2 ? 0 : static_cast<int>(left);
}

// Whether the kernel with this many stages has main loops, and a block's shared memory has room for them.
bool has_room_for(int stages, const ir::Kernel &kernel, const PlanContext &context) {
  ir::Kernel fewer = kernel;
  fewer.plan.stages = stages;
  fewer.body = passes::with_stages_of_products(kernel.body, stages);
  for (const bool steps : {true, false}) {
    const ir::Kernel loops =
        passes::product_loops(fewer, context.target, context.arrays, {.stages_of_others = 0, .steps = steps});
    if (!passes::has_product_loops(loops)) return false;
    if (steps && passes::has_product_steps(loops) && !has_roles_when_placed(loops, context)) continue;
    return bytes_too_many_when_placed(loops, context) <= 0;
  }
  return false;
}

// If the plan asks for stages, and main loops with fewer would fit.
void refuse_too_many_stages(const ir::Kernel &kernel, const PlanContext &context) {
  if (!kernel.plan.stages) return;
  const int asked = *kernel.plan.stages;
  for (int fewer = asked - 1; fewer > 1; --fewer) {
    if (!has_room_for(fewer, kernel, context)) continue;
    TilePlan nearest = kernel.plan;
    nearest.stages = fewer;
    throw passes::PlanRefused(kernel, fmt::format("stages {}", asked),
                              fmt::format("a block's shared memory has room for {}", fewer), nearest);
  }
}

// As many stages as fit.
ir::Kernel with_fitting_loops(ir::Kernel kernel, const PlanContext &context) {
  const auto made = [&](int stages, bool steps) {
    return passes::product_loops(kernel, context.target, context.arrays, {.stages_of_others = stages, .steps = steps});
  };
  for (int stages = kernel.plan.stages ? 0 : most_stages_of_others;;) {
    ir::Kernel loops = made(stages, /*steps=*/true);
    if (!passes::has_product_loops(loops)) break;
    const int count = loops_in(loops);
    const bool has_steps = passes::has_product_steps(loops);
    if (has_steps) {
      if (has_roles_when_placed(loops, context)) return loops;
      loops = made(stages, /*steps=*/false);
      if (!passes::has_product_loops(loops)) break;
    }
    const std::int64_t too_many = bytes_too_many_when_placed(loops, context);
    if (too_many <= 0) return loops;
    const bool all_declared = stages == 0 || loops_in(made(0, /*steps=*/true)) == count;
    if (all_declared) break;
    // The rings of loops with steps differ from those that were tried last.
    if (has_steps)
      stages = stages > 2 ? stages - 1 : 0;
    else
      stages = fewer_stages(stages, too_many, bytes_of_stage(loops));
  }
  refuse_too_many_stages(kernel, context);
  return passes::product_loops(std::move(kernel), context.target, context.arrays,
                               {.steps = false, .refused = "a block's shared memory has no room for its buffers"});
}

}  // namespace

ir::Kernel with_main_loops(ir::Kernel kernel, const PlanContext &context) {
  return passes::with_stages_of_rings(with_fitting_loops(passes::with_planned_tile(std::move(kernel)), context));
}

bool fits_shared_memory(ir::Kernel lowered, const passes::Architecture &gpu, int *trials) {
  const passes::FactsOfArrays nothing_known;
  const PlanContext trial{gpu, nothing_known, {}, /*trial=*/true, trials};
  return bytes_too_many_when_placed(run_steps(std::move(lowered), trial, "plain_thread_loops", "place_arrays"),
                                    trial) <= 0;
}

ir::Kernel main_loops_of(ir::Kernel lowered, const passes::Architecture &gpu, const passes::FactsOfArrays &arrays,
                         int *trials) {
  return run_steps(std::move(lowered), {gpu, arrays, {}, /*trial=*/true, trials}, "plain_thread_loops",
                   "product_loops");
}

}  // namespace samite::jit
