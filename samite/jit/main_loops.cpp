#include "samite/jit/main_loops.h"

#include "samite/passes/sm90/assign_roles.h"
#include "samite/passes/sm90/product_loops.h"
#include "samite/passes/tiles/plan_tile_memory.h"

namespace samite::jit {
namespace {

// The kernel after the steps that determine its memory.
ir::Kernel placed(const ir::Kernel &kernel, const PlanContext &context) {
  return run_steps(kernel, {context.target, context.arrays, context.choices, /*trial=*/true}, "place_tiles",
                   "pipeline_loops");
}

bool fits_when_placed(const ir::Kernel &kernel, const PlanContext &context) {
  return passes::fits(passes::plan_tile_memory(placed(kernel, context)), context.target);
}

// Whether a block gets producers, for which its tiles must fit shared memory.
bool has_roles_when_placed(const ir::Kernel &kernel, const PlanContext &context) {
  return passes::assign_roles(placed(kernel, context), context.target, context.arrays).producers > 0;
}

}  // namespace

ir::Kernel with_main_loops(ir::Kernel kernel, const PlanContext &context) {
  const auto made = [&](int stages, bool steps) {
    return passes::product_loops(kernel, context.target, context.arrays, {.stages_of_others = stages, .steps = steps});
  };
  for (const int stages : {4, 3, 2, 0}) {
    ir::Kernel loops = made(stages, /*steps=*/true);
    if (!passes::has_product_loops(loops)) break;
    if (passes::has_product_steps(loops)) {
      if (has_roles_when_placed(loops, context)) return loops;
      loops = made(stages, /*steps=*/false);
      if (!passes::has_product_loops(loops)) break;
    }
    if (fits_when_placed(loops, context)) return loops;
  }
  return passes::product_loops(std::move(kernel), context.target, context.arrays,
                               {.steps = false, .refused = "a block's shared memory has no room for its buffers"});
}

bool fits_shared_memory(ir::Kernel lowered, const passes::Architecture &gpu) {
  const passes::FactsOfArrays nothing_known;
  const PlanContext trial{gpu, nothing_known, {}, /*trial=*/true};
  return fits_when_placed(run_steps(std::move(lowered), trial, "plain_thread_loops", "place_arrays"), trial);
}

ir::Kernel main_loops_of(ir::Kernel lowered, const passes::Architecture &gpu, const passes::FactsOfArrays &arrays) {
  return run_steps(std::move(lowered), {gpu, arrays, {}, /*trial=*/true}, "plain_thread_loops", "product_loops");
}

}  // namespace samite::jit
