#include "samite/jit/steps.h"

#include "samite/base/dump.h"
#include "samite/base/error.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"
#include "samite/jit/main_loops.h"
#include "samite/passes/adjoint/split_zero_fills.h"
#include "samite/passes/analysis/plan_refused.h"
#include "samite/passes/analysis/unsynchronised.h"
#include "samite/passes/pipelines/dead_elements.h"
#include "samite/passes/pipelines/equal_loops.h"
#include "samite/passes/pipelines/pack_accesses.h"
#include "samite/passes/pipelines/share_loads.h"
#include "samite/passes/sm90/assign_roles.h"
#include "samite/passes/sm90/form_clusters.h"
#include "samite/passes/sm90/form_teams.h"
#include "samite/passes/sm90/overlap_products.h"
#include "samite/passes/sm90/share_steps.h"
#include "samite/passes/sm90/take_turns.h"
#include "samite/passes/threads/clamped_edges.h"
#include "samite/passes/threads/interchange.h"
#include "samite/passes/threads/march.h"
#include "samite/passes/threads/place_arrays.h"
#include "samite/passes/threads/plain_thread_loops.h"
#include "samite/passes/threads/scalar_instances.h"
#include "samite/passes/threads/shape_launch.h"
#include "samite/passes/threads/side_by_side.h"
#include "samite/passes/threads/sum_over_lanes.h"
#include "samite/passes/threads/sum_over_launch.h"
#include "samite/passes/threads/warp_loops.h"
#include "samite/passes/tiles/fetch_ahead.h"
#include "samite/passes/tiles/insert_barriers.h"
#include "samite/passes/tiles/load_in_units.h"
#include "samite/passes/tiles/multiply_ahead.h"
#include "samite/passes/tiles/number_blocks.h"
#include "samite/passes/tiles/pipeline_loops.h"
#include "samite/passes/tiles/place_tiles.h"
#include "samite/passes/tiles/plan_element_loops.h"
#include "samite/passes/tiles/plan_tile_memory.h"
#include "samite/passes/tiles/planned_tile.h"
#include "samite/passes/tiles/reuse_registers.h"
#include "samite/passes/tiles/spread_tiles.h"
#include "samite/passes/tiles/stage_loads.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace samite::jit {
namespace {

using ir::Kernel;
using enum ir::Property;
using Context = const PlanContext &;
constexpr auto always = Step::When::always, optimised = Step::When::optimised,
               not_in_trials = Step::When::not_in_trials;

// A trial does not know which arrays share memory. It assumes that none do, which gives loops the largest prefetch
// distance.
passes::FactsOfArrays facts_for_staging(const Kernel &kernel, Context context) {
  if (!context.trial) return context.arrays;
  return passes::FactsOfArrays(kernel.parameters.size(), {.unaliased = true});
}

Kernel side_by_side(Kernel kernel, Context context) {
  const bool streams = passes::marched(kernel) > 1;
  return passes::side_by_side(std::move(kernel), {context.choices.instances_per_thread, context.arrays, streams});
}

Kernel plan_tile_memory(Kernel kernel, Context) {
  const passes::TileMemoryPlan memory = passes::plan_tile_memory(kernel);
  return passes::with_offsets(std::move(kernel), memory);
}

Kernel shape_launch(Kernel kernel, Context context) {
  const PlanChoices &choices = context.choices;
  return passes::shape_launch(std::move(kernel), context.target,
                              {.strides = choices.any_extents,
                               .axes = choices.fits_axes,
                               .debug = choices.debug,
                               .two_blocks = choices.two_blocks});
}

// clang-format off
constexpr Step steps[] = {
    // name, for kernels of, on, when, requirements, establishes, function, for launches that choose it, precedes
    {"remove_dead_elements", Step::scheduled, Step::any_target, optimised, {}, {},
     [](Kernel k, Context) { return passes::remove_dead_elements(std::move(k)); }, nullptr, {arrays_placed}},
    {"plain_thread_loops", Step::any_kernel, Step::any_target, always, {}, {plain_thread_loops},
     [](Kernel k, Context) { return passes::plain_thread_loops(std::move(k)); }},
    {"place_arrays", Step::any_kernel, Step::any_target, always, {plain_thread_loops}, {arrays_placed},
     [](Kernel k, Context c) { return passes::place_arrays(std::move(k), c.target); }},
    {"scalar_instances", Step::threads, Step::cpu, optimised, {arrays_placed}, {},
     [](Kernel k, Context) { return passes::scalar_instances(std::move(k)); }, nullptr, {sums_marked}},
    {"interchange", Step::threads | Step::tiles, Step::cpu, optimised, {arrays_placed}, {},
     [](Kernel k, Context c) { return passes::interchange(std::move(k), c.arrays); }, nullptr, {sums_marked}},
    {"clamped_edges", Step::threads | Step::tiles, Step::cpu, optimised, {arrays_placed}, {},
     [](Kernel k, Context) { return passes::clamped_edges(std::move(k)); }, nullptr, {sums_marked}},
    {"share_loads", Step::scheduled, Step::any_target, optimised, {arrays_placed}, {},
     [](Kernel k, Context c) { return passes::share_loads(std::move(k), c.arrays); }},
    {"sum_over_lanes", Step::any_kernel, Step::cpu, optimised, {plain_thread_loops}, {sums_marked},
     [](Kernel k, Context) { return passes::sum_over_lanes(std::move(k)); }},
    {"equal_loops", Step::scheduled, Step::cpu, optimised, {arrays_placed, sums_marked}, {},
     [](Kernel k, Context) { return passes::equal_loops(std::move(k)); }},
    {"pack_accesses", Step::scheduled, Step::gpu, optimised, {arrays_placed}, {},
     [](Kernel k, Context c) { return passes::pack_accesses(std::move(k), c.arrays); }},
    {"sum_over_launch", Step::threads | Step::tiles, Step::gpu, optimised, {arrays_placed}, {sums_marked},
     [](Kernel k, Context) { return passes::sum_over_launch(std::move(k)); }},
    {"march", Step::threads, Step::gpu, optimised, {arrays_placed, sums_marked}, {},
     [](Kernel k, Context) { return passes::march(std::move(k)); },
     [](const PlanChoices &c) { return c.outgrows_caches; }},
    {"side_by_side", Step::threads, Step::gpu, optimised, {arrays_placed, sums_marked}, {}, side_by_side,
     [](const PlanChoices &c) { return c.instances_per_thread > 1; }},
    {"warp_loops", Step::threads | Step::tiles, Step::gpu, optimised, {sums_marked}, {},
     [](Kernel k, Context c) { return passes::warp_loops(std::move(k), c.arrays); }},
    {"split_zero_fills", Step::tiles, Step::gpu, optimised, {arrays_placed}, {},
     [](Kernel k, Context c) { return passes::split_zero_fills(std::move(k), c.arrays); }, nullptr, {tiles_placed}},
    {"product_loops", Step::tiles, Step::gpu, optimised, {arrays_placed, sums_marked}, {}, with_main_loops, nullptr, {tiles_placed}},
    {"place_tiles", Step::tiles, Step::gpu, always, {arrays_placed}, {tiles_placed},
     [](Kernel k, Context c) { return passes::place_tiles(std::move(k), c.target); }},
    {"reuse_registers", Step::tiles, Step::gpu, always, {tiles_placed}, {},
     [](Kernel k, Context) { return passes::reuse_registers(std::move(k)); }},
    {"stage_loads", Step::tiles, Step::gpu, always, {tiles_placed}, {loads_staged},
     [](Kernel k, Context c) {
       const passes::FactsOfArrays facts = facts_for_staging(k, c);
       return passes::stage_loads(std::move(k), facts);
     }},
    {"spread_tiles", Step::tiles, Step::gpu, always, {tiles_placed, loads_staged}, {tiles_spread},
     [](Kernel k, Context c) { return passes::spread_tiles(std::move(k), c.target); }, nullptr, {synchronised}},
    {"insert_barriers", Step::tiles, Step::gpu, not_in_trials, {tiles_placed, loads_staged, tiles_spread},
     {synchronised},
     [](Kernel k, Context c) { return passes::insert_barriers(std::move(k), passes::shares_memory(c.arrays)); }, nullptr, {loops_pipelined}},
    {"multiply_ahead", Step::tiles, Step::gpu, always, {loads_staged}, {},
     [](Kernel k, Context c) { return passes::multiply_ahead(std::move(k), c.target); }, nullptr, {loops_pipelined}},
    {"pipeline_loops", Step::tiles, Step::gpu, always, {loads_staged}, {loops_pipelined},
     [](Kernel k, Context) { return passes::pipeline_loops(std::move(k)); }, nullptr, {memory_planned}},
    {"load_in_units", Step::tiles, Step::gpu, always, {tiles_placed, loops_pipelined}, {},
     [](Kernel k, Context c) { return passes::load_in_units(std::move(k), c.arrays); }},
    {"fetch_ahead", Step::tiles, Step::gpu, optimised, {synchronised, loops_pipelined}, {},
     [](Kernel k, Context c) { return passes::fetch_ahead(std::move(k), c.target, c.arrays); }},
    {"assign_roles", Step::tiles, Step::gpu, always, {synchronised, loops_pipelined}, {roles_assigned},
     [](Kernel k, Context c) { return passes::assign_roles(std::move(k), c.target, c.arrays); }, nullptr, {memory_planned}},
    {"number_blocks", Step::tiles, Step::gpu, always, {roles_assigned}, {},
     [](Kernel k, Context) { return passes::number_blocks(std::move(k)); }},
    {"share_steps", Step::tiles, Step::gpu, always, {roles_assigned}, {},
     [](Kernel k, Context c) { return passes::share_steps(std::move(k), c.target, c.choices.step_parts); }, nullptr, {memory_planned}},
    {"form_teams", Step::tiles, Step::gpu, always, {roles_assigned}, {},
     [](Kernel k, Context c) { return passes::form_teams(std::move(k), c.target, c.choices.in_rounds); }, nullptr, {memory_planned}},
    {"take_turns", Step::tiles, Step::gpu, always, {roles_assigned}, {},
     [](Kernel k, Context) { return passes::take_turns(std::move(k)); }},
    {"overlap_products", Step::tiles, Step::gpu, always, {roles_assigned}, {},
     [](Kernel k, Context) { return passes::overlap_products(std::move(k)); }},
    {"form_clusters", Step::tiles, Step::gpu, always, {roles_assigned}, {},
     [](Kernel k, Context c) { return passes::form_clusters(std::move(k), c.target, c.choices.paired); }, nullptr, {memory_planned}},
    {"plan_tile_memory", Step::tiles | Step::scheduled, Step::gpu, always, {arrays_placed}, {memory_planned},
     plan_tile_memory},
    {"plan_element_loops", Step::tiles | Step::scheduled, Step::gpu, not_in_trials, {memory_planned}, {},
     [](Kernel k, Context c) { return passes::plan_element_loops(std::move(k), c.arrays, c.choices.debug); }},
    {"shape_launch", Step::any_kernel, Step::gpu, not_in_trials, {arrays_placed}, {}, shape_launch},
};
// clang-format on

std::uint8_t kind_of(const Kernel &kernel) {
  return kernel.scheduled ? Step::scheduled : ir::is_tile_kernel(kernel) ? Step::tiles : Step::threads;
}

std::size_t position(std::string_view name) {
  const auto *step = std::ranges::find(steps, name, &Step::name);
  if (step == std::end(steps)) throw InternalError(fmt::format("there is no step {}", name));
  return static_cast<std::size_t>(step - std::begin(steps));
}

std::string names_of(ir::Properties properties) {
  std::string names;
  for (int bit = 0; bit <= static_cast<int>(memory_planned); ++bit)
    if (const auto property = static_cast<ir::Property>(bit); properties.has(property))
      names += fmt::format("{}{}", names.empty() ? "" : ", ", ir::name(property));
  return names;
}

void check_order(const Step &step, const Kernel &kernel) {
  if (const ir::Properties missing = step.requirements.without(kernel.properties); !missing.empty())
    throw InternalError(fmt::format("kernel '{}': step {} requires {}, which no step before it has established",
                                    kernel.name, step.name, names_of(missing)));
  const ir::Properties others = step.precedes.without(kernel.properties), early = step.precedes.without(others);
  if (!early.empty())
    throw InternalError(fmt::format("kernel '{}': step {} precedes {}, which a step before it has established",
                                    kernel.name, step.name, names_of(early)));
}

// If the IR is verified, so is the synchronisation of a block's threads. The barriers of scheduled kernels are there
// before the first step.
void verify_after(const Step &step, const Kernel &kernel, Context context) {
#if SAMITE_VERIFY_IR
  ir::verify(kernel, ir::Form::lowered, step.name);
  ir::verify_properties(kernel, step.name);
  if (!kernel.properties.has(memory_planned) || !(kernel.scheduled || kernel.properties.has(synchronised))) return;
  const auto missing = passes::unsynchronised(kernel, passes::shares_memory(context.arrays)).missing;
  if (!missing.empty())
    throw InternalError("kernel '" + kernel.name + "': " + missing[0] + "\n" + ir::to_string(kernel));
#else
  (void)step, (void)kernel, (void)context;
#endif
}

// A plan's stages, if threads copy the windows: with too many, the kernel's tiles exceed shared memory.
Kernel with_room_for_stages(Kernel planned, Context context) {
  if (planned.plan.stages.value_or(1) == 1 || planned.scheduled) return planned;
  const passes::TileMemoryPlan memory = passes::plan_tile_memory(planned);
  if (memory.sized_at_launch() || passes::bytes_too_many(memory, context.target) <= 0) return planned;
  TilePlan nearest = planned.plan;
  nearest.stages = *planned.plan.stages - 1;
  throw passes::PlanRefused(
      planned, fmt::format("stages {}", *planned.plan.stages),
      fmt::format("the kernel's tiles then take {} bytes of a block's shared memory, which has {}", memory.bytes,
                  context.target.shared_bytes),
      nearest);
}

// A refusal's nearest plan, without what steps had chosen for fields that `asked` leaves to them.
TilePlan nearest_to(const TilePlan &asked, const passes::PlanRefused &refused) {
  TilePlan nearest = refused.nearest();
  for (const PlanField &field : plan_fields())
    if (!(asked.*field.value) && nearest.*field.value == refused.plan().*field.value)
      nearest.*field.value = std::nullopt;
  return nearest;
}

// The first plan from `nearest` on that no step refuses, each of which comes from the refusal before.
template <class Planned>
TilePlan plan_that_holds(const Kernel &lowered, TilePlan nearest, const Planned &planned) {
  constexpr int most_refusals = 64;
  for (int refusals = 0; refusals < most_refusals; ++refusals) try {
      Kernel kernel = lowered;
      kernel.plan = nearest;
      if (nearest.stages) kernel.body = passes::with_stages_of_products(kernel.body, *nearest.stages);
      planned(std::move(kernel));
      return nearest;
    } catch (const passes::PlanRefused &refused) {
      nearest = nearest_to(nearest, refused);
    }
  return {};
}

}  // namespace

bool Step::applies(const Kernel &kernel, Context context) const {
  const bool is_gpu = context.target.blocks_have_threads();
  return (kernels & kind_of(kernel)) != 0 && (targets & (is_gpu ? gpu : cpu)) != 0 &&
         !(when == When::optimised && context.choices.debug) && !(when == When::not_in_trials && context.trial) &&
         (!chosen || chosen(context.choices));
}

std::span<const Step> plan_steps() { return steps; }

Kernel run_steps(Kernel kernel, Context context, std::string_view first, std::string_view last) {
  const std::size_t end = position(last) + 1;
  for (std::size_t i = position(first); i < end; ++i) {
    const Step &step = steps[i];
    if (!step.applies(kernel, context)) continue;
    check_order(step, kernel);
    const ir::Properties before = kernel.properties;
    kernel = step.run(std::move(kernel), context);
    kernel.properties = before.with(step.establishes);
    if (context.trial) continue;
    verify_after(step, kernel, context);
    if (dumping()) dump(kernel.name, step.name, "ir", ir::to_string(kernel));
  }
  return kernel;
}

Kernel plan(Kernel lowered, Context context) {
  const auto planned = [&](Kernel kernel) {
    return run_steps(std::move(kernel), context, steps[0].name, std::end(steps)[-1].name);
  };
  if (lowered.plan == TilePlan()) return planned(std::move(lowered));
  try {
    return with_room_for_stages(planned(lowered), context);
  } catch (const passes::PlanRefused &refused) {
    throw refused.with_nearest(plan_that_holds(lowered, nearest_to(lowered.plan, refused), [&](Kernel kernel) {
      return with_room_for_stages(planned(std::move(kernel)), context);
    }));
  }
}

}  // namespace samite::jit
