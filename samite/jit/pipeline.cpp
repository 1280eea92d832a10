#include "samite/jit/pipeline.h"

#include "samite/autodiff/adjoint_call.h"
#include "samite/base/dump.h"
#include "samite/base/error.h"
#include "samite/codegen/parameter_space.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"
#include "samite/ir/visit.h"
#include "samite/passes/assign_roles.h"
#include "samite/passes/clear_apart.h"
#include "samite/passes/computed_cotangents.h"
#include "samite/passes/dead_elements.h"
#include "samite/passes/fetch_ahead.h"
#include "samite/passes/form_clusters.h"
#include "samite/passes/form_teams.h"
#include "samite/passes/gather_tiles.h"
#include "samite/passes/inline_primals.h"
#include "samite/passes/insert_barriers.h"
#include "samite/passes/interchange.h"
#include "samite/passes/load_in_units.h"
#include "samite/passes/lower_threads.h"
#include "samite/passes/lower_tiles.h"
#include "samite/passes/march.h"
#include "samite/passes/multiply_ahead.h"
#include "samite/passes/number_blocks.h"
#include "samite/passes/number_iterations.h"
#include "samite/passes/overlap_products.h"
#include "samite/passes/pack_accesses.h"
#include "samite/passes/pipeline_loops.h"
#include "samite/passes/place_arrays.h"
#include "samite/passes/place_tiles.h"
#include "samite/passes/plain_thread_loops.h"
#include "samite/passes/plan_tile_memory.h"
#include "samite/passes/product_loops.h"
#include "samite/passes/promote.h"
#include "samite/passes/returned_exchanges.h"
#include "samite/passes/reuse_registers.h"
#include "samite/passes/share_loads.h"
#include "samite/passes/share_steps.h"
#include "samite/passes/side_by_side.h"
#include "samite/passes/simplify.h"
#include "samite/passes/split_loops.h"
#include "samite/passes/spread_tiles.h"
#include "samite/passes/stage_loads.h"
#include "samite/passes/structure_jumps.h"
#include "samite/passes/sum_over_lanes.h"
#include "samite/passes/sum_over_launch.h"
#include "samite/passes/take_turns.h"
#include "samite/passes/unsynchronised.h"
#include "samite/passes/warp_loops.h"
#include "samite/passes/widen_tile_origins.h"

#include <algorithm>

namespace samite::jit {
namespace {

ir::Kernel checked(ir::Kernel kernel, ir::Form form, const char *pass) {
#if SAMITE_VERIFY_IR
  ir::verify(kernel, form, pass);
#else
  (void)form;
#endif
  if (dumping()) dump(kernel.name, pass, "ir", ir::to_string(kernel));
  return kernel;
}

// Where the form of the IR is verified, so is the order of a block's threads.
void check_synchronised(const ir::Kernel &planned, const passes::FactsOfArrays &arrays) {
#if SAMITE_VERIFY_IR
  const std::vector<std::string> missing = passes::unsynchronised(planned, passes::shares_memory(arrays)).missing;
  if (!missing.empty())
    throw InternalError("kernel '" + planned.name + "': " + missing[0] + "\n" + ir::to_string(planned));
#else
  (void)planned, (void)arrays;
#endif
}

// What is planned of a kernel whose blocks have threads, up to where its shared memory can be planned. A trial, which
// only wants to know how much that is, leaves out the barriers, and neither verifies nor dumps.
ir::Kernel in_memory(ir::Kernel kernel, const passes::Architecture &architecture, const passes::FactsOfArrays &arrays,
                     bool trial) {
  const auto step = [trial](ir::Kernel after, ir::Form form, const char *pass) {
    return trial ? std::move(after) : checked(std::move(after), form, pass);
  };
  kernel = step(passes::place_tiles(std::move(kernel), architecture), ir::Form::lowered, "place_tiles");
  kernel = step(passes::reuse_registers(std::move(kernel)), ir::Form::lowered, "reuse_registers");
  // Of a trial it is not known which arrays share memory; at most as many loads are ahead as if none did.
  const passes::FactsOfArrays apart(kernel.parameters.size(), {.unaliased = true});
  kernel = step(passes::stage_loads(std::move(kernel), trial ? apart : arrays), ir::Form::lowered, "stage_loads");
  kernel = step(passes::spread_tiles(std::move(kernel), architecture), ir::Form::lowered, "spread_tiles");
  if (!trial)
    kernel = step(passes::insert_barriers(std::move(kernel), passes::shares_memory(arrays)), ir::Form::lowered,
                  "insert_barriers");
  kernel = step(passes::multiply_ahead(std::move(kernel), architecture), ir::Form::lowered, "multiply_ahead");
  return step(passes::pipeline_loops(std::move(kernel)), ir::Form::lowered, "pipeline_loops");
}

bool fits_when_placed(const ir::Kernel &kernel, const passes::Architecture &architecture) {
  return passes::fits(passes::plan_tile_memory(in_memory(kernel, architecture, {}, /*trial=*/true)), architecture);
}

// Whether a block has warps that start copies for the others, which takes shared memory that fits.
bool has_roles_when_placed(const ir::Kernel &kernel, const passes::Architecture &architecture,
                           const passes::FactsOfArrays &arrays) {
  return passes::assign_roles(in_memory(kernel, architecture, {}, /*trial=*/true), architecture, arrays).producers > 0;
}

bool fits_shared_memory(const ir::Kernel &tiles_lowered, int capability) {
  return fits_when_placed(passes::lower_threads(tiles_lowered), passes::gpu_architecture(capability));
}

// Loops of products as calls, where a block's shared memory has room for their buffers. Those that are not said to be
// pipelined have as many stages as fit.
ir::Kernel with_product_loops(ir::Kernel kernel, const passes::Architecture &architecture,
                              const passes::FactsOfArrays &arrays) {
  for (const int stages : {4, 3, 2, 0}) {
    ir::Kernel calls = passes::product_loops(kernel, architecture, arrays, stages);
    if (!passes::has_product_loops(calls)) break;
    if (passes::has_product_steps(calls)) {
      if (has_roles_when_placed(calls, architecture, arrays)) return calls;
      calls = passes::product_loops(kernel, architecture, arrays, stages, /*steps=*/false);
      if (!passes::has_product_loops(calls)) break;
    }
    if (fits_when_placed(calls, architecture)) return calls;
  }
  return kernel;
}

int most_stages(const ir::Kernel &kernel) {
  int stages = 1;
  ir::for_each_statement(kernel.body, [&](const ir::Stmt &stmt) {
    if (const auto *loop = stmt.as<ir::For>()) stages = std::max(stages, loop->stages);
  });
  return stages;
}

// What becomes of the loops of products before shared memory is planned.
ir::Kernel planned_loops(ir::Kernel lowered, const passes::Architecture &architecture,
                         const passes::FactsOfArrays &arrays) {
  lowered = passes::place_arrays(passes::plain_thread_loops(std::move(lowered)), architecture);
  lowered = passes::warp_loops(passes::sum_over_launch(std::move(lowered)), arrays);
  return with_product_loops(std::move(lowered), architecture, arrays);
}

// Loads of factors are taken ahead where the shared memory of a block has room for them, or for the buffers of bulk
// copies: these loops need no memory for a factor without some of its terms. `capability` 0: the CPU.
ir::Kernel lower_tiles(const ir::Kernel &structured, int capability, bool in_order,
                       const passes::FactsOfArrays &arrays = {}) {
  if (capability == 0) return passes::lower_tiles(structured, passes::cpu_architecture());
  const passes::Architecture &gpu = passes::gpu_architecture(capability);
  ir::Kernel ahead = passes::lower_tiles(structured, gpu, {.in_order = in_order});
  if (most_stages(ahead) == 1 || fits_shared_memory(ahead, capability)) return ahead;
  if (!arrays.empty() && passes::has_product_loops(planned_loops(passes::lower_threads(ahead), gpu, arrays)))
    return ahead;
  return passes::lower_tiles(structured, gpu, {.in_order = in_order, .loads_ahead = false});
}

ir::Block with_stages(const ir::Block &block, int most) {
  ir::Block changed;
  for (const ir::Stmt &stmt : block) {
    if (const auto *loop = stmt.as<ir::For>()) {
      ir::For copy = *loop;
      copy.stages = std::min(loop->stages, most);
      copy.body = with_stages(loop->body, most);
      changed.emplace_back(std::move(copy), stmt.where());
    } else {
      changed.push_back(stmt);
    }
  }
  return changed;
}

std::optional<RunGathered> fitted_apart(const ir::Kernel &gathered, bool apart, int capability) {
  std::vector<ir::Kernel> kernels = apart ? passes::split_loops(gathered) : std::vector{gathered};
  for (ir::Kernel &kernel : kernels) {
    auto fits = fitted(kernel, capability);
    if (!fits) return std::nullopt;
    kernel = checked(*std::move(fits), ir::Form::structured, "split_loops");
  }
  RunGathered run{std::move(kernels.front()), {}, {}};
  run.further.assign(std::make_move_iterator(kernels.begin() + 1), std::make_move_iterator(kernels.end()));
  return run;
}

}  // namespace

std::optional<ir::Kernel> fitted(const ir::Kernel &adjoint, int capability) {
  for (int stages = most_stages(adjoint); stages > 0; --stages) {
    ir::Kernel kernel = adjoint;
    kernel.body = with_stages(adjoint.body, stages);
    if (fits_shared_memory(lower_tiles(kernel, capability, false), capability)) return kernel;
  }
  return std::nullopt;
}

std::optional<RunGathered> gathered_to_run(const passes::GatheredAdjoint &gathered, int capability) {
  if (!is_tile_kernel(gathered.gather)) return RunGathered{gathered.gather, {}, {}};
  if (gathered.before) {
    if (!codegen::fits_parameter_space(gathered.gather)) return std::nullopt;
    auto before = fitted(*gathered.before, capability);
    auto run = before ? fitted_apart(gathered.gather, gathered.has_wide_windows(), capability) : std::nullopt;
    if (run) run->copies = {*std::move(before), {}, gathered.copies};
    return run;
  }
  if (auto copies = passes::copy_casts(gathered); copies && codegen::fits_parameter_space(copies->gather)) {
    copies->copy = checked(std::move(copies->copy), ir::Form::structured, "copy_casts");
    copies->gather = checked(std::move(copies->gather), ir::Form::structured, "copy_casts");
    if (auto run = fitted_apart(copies->gather, gathered.has_wide_windows(), capability)) {
      run->copies = std::move(copies);
      return run;
    }
  }
  return fitted_apart(gathered.gather, gathered.has_wide_windows(), capability);
}

Lowered lower(const ir::Kernel &structured, const LowerChoices &choices) {
  ir::Kernel last = structured;
  Lowered lowered;
  if (!structured.scheduled) {
    if (choices.adjoint)
      last = checked(passes::returned_exchanges(std::move(last)), ir::Form::structured, "returned_exchanges");
    last = checked(passes::widen_tile_origins(std::move(last), choices.wide_arrays), ir::Form::structured,
                   "widen_tile_origins");
    last = checked(lower_tiles(last, choices.cuda, choices.in_order, choices.arrays), ir::Form::lowered, "lower_tiles");
    if (choices.may_share) {
      passes::CheckedForRaces looking = passes::check_races(last, *choices.may_share);
      lowered.unchecked_for_races = choices.cuda != 0 && !codegen::fits_parameter_space(looking.kernel);
      if (!lowered.unchecked_for_races) {
        last = checked(std::move(looking.kernel), ir::Form::lowered, "check_races");
        lowered.races = std::move(looking.races);
      }
    }
  }
  lowered.kernel = checked(passes::lower_threads(std::move(last)), ir::Form::lowered, "lower_threads");
  return lowered;
}

ir::Kernel plan_for_cpu(ir::Kernel kernel, const passes::FactsOfArrays &arrays, bool debug) {
  if (kernel.scheduled) return plan_scheduled_for_cpu(std::move(kernel), arrays, debug);
  kernel = checked(passes::plain_thread_loops(std::move(kernel)), ir::Form::lowered, "plain_thread_loops");
  kernel =
      checked(passes::place_arrays(std::move(kernel), passes::cpu_architecture()), ir::Form::lowered, "place_arrays");
  if (debug) return kernel;
  kernel = checked(passes::interchange(std::move(kernel), arrays), ir::Form::lowered, "interchange");
  return checked(passes::sum_over_lanes(std::move(kernel)), ir::Form::lowered, "sum_over_lanes");
}

ir::Kernel plan_for_gpu(ir::Kernel kernel, const passes::Architecture &architecture,
                        const passes::FactsOfArrays &arrays, const GpuChoices &choices) {
  if (kernel.scheduled) return plan_scheduled_for_gpu(std::move(kernel), architecture, arrays, choices.debug);
  kernel = checked(passes::plain_thread_loops(std::move(kernel)), ir::Form::lowered, "plain_thread_loops");
  kernel = checked(passes::place_arrays(std::move(kernel), architecture), ir::Form::lowered, "place_arrays");
  if (!choices.debug)
    kernel = checked(passes::sum_over_launch(std::move(kernel)), ir::Form::lowered, "sum_over_launch");
  if (!choices.debug && choices.outgrows_caches)
    kernel = checked(passes::march(std::move(kernel)), ir::Form::lowered, "march");
  if (!choices.debug && choices.instances_per_thread > 1) {
    const bool streams = passes::marched(kernel) > 1;
    kernel = checked(passes::side_by_side(std::move(kernel), {choices.instances_per_thread, arrays, streams}),
                     ir::Form::lowered, "side_by_side");
  }
  if (!choices.debug) kernel = checked(passes::warp_loops(std::move(kernel), arrays), ir::Form::lowered, "warp_loops");
  if (!ir::is_tile_kernel(kernel)) return kernel;
  if (!choices.debug) {
    kernel = checked(passes::clear_apart(std::move(kernel), arrays), ir::Form::lowered, "clear_apart");
    kernel = checked(with_product_loops(std::move(kernel), architecture, arrays), ir::Form::lowered, "product_loops");
  }
  kernel = in_memory(std::move(kernel), architecture, arrays, /*trial=*/false);
  kernel = checked(passes::load_in_units(std::move(kernel), arrays), ir::Form::lowered, "load_in_units");
  if (!choices.debug)
    kernel = checked(passes::fetch_ahead(std::move(kernel), architecture, arrays), ir::Form::lowered, "fetch_ahead");
  kernel = checked(passes::assign_roles(std::move(kernel), architecture, arrays), ir::Form::lowered, "assign_roles");
  kernel = checked(passes::number_blocks(std::move(kernel)), ir::Form::lowered, "number_blocks");
  if (choices.step_parts > 1)
    kernel = checked(passes::share_steps(std::move(kernel), architecture, choices.step_parts), ir::Form::lowered,
                     "share_steps");
  if (choices.in_rounds)
    kernel = checked(passes::form_teams(std::move(kernel), architecture), ir::Form::lowered, "form_teams");
  kernel = checked(passes::take_turns(std::move(kernel)), ir::Form::lowered, "take_turns");
  kernel = checked(passes::overlap_products(std::move(kernel)), ir::Form::lowered, "overlap_products");
  kernel = checked(passes::form_clusters(std::move(kernel), architecture, choices.paired), ir::Form::lowered,
                   "form_clusters");
  const passes::TileMemoryPlan plan = passes::plan_tile_memory(kernel);
  kernel = checked(passes::with_offsets(std::move(kernel), plan), ir::Form::lowered, "plan_tile_memory");
  check_synchronised(kernel, arrays);
  return kernel;
}

std::vector<std::uint32_t> arrays_of_bulk_copies(ir::Kernel lowered, const passes::Architecture &architecture,
                                                 const passes::FactsOfArrays &arrays) {
  std::vector<std::uint32_t> read;
  for (const passes::TensorMapNeeded &map :
       passes::tensor_maps(planned_loops(std::move(lowered), architecture, arrays)))
    if (std::ranges::find(read, map.array) == read.end()) read.push_back(map.array);
  return read;
}

ir::Kernel plan_scheduled_for_cpu(ir::Kernel kernel, const passes::FactsOfArrays &arrays, bool debug) {
  if (!debug)
    kernel = checked(passes::remove_dead_elements(std::move(kernel)), ir::Form::lowered, "remove_dead_elements");
  kernel = checked(passes::plain_thread_loops(std::move(kernel)), ir::Form::lowered, "plain_thread_loops");
  kernel =
      checked(passes::place_arrays(std::move(kernel), passes::cpu_architecture()), ir::Form::lowered, "place_arrays");
  if (debug) return kernel;
  kernel = checked(passes::share_loads(std::move(kernel), arrays), ir::Form::lowered, "share_loads");
  return checked(passes::sum_over_lanes(std::move(kernel)), ir::Form::lowered, "sum_over_lanes");
}

ir::Kernel plan_scheduled_for_gpu(ir::Kernel kernel, const passes::Architecture &architecture,
                                  const passes::FactsOfArrays &arrays, bool debug) {
  if (!debug)
    kernel = checked(passes::remove_dead_elements(std::move(kernel)), ir::Form::lowered, "remove_dead_elements");
  kernel = checked(passes::plain_thread_loops(std::move(kernel)), ir::Form::lowered, "plain_thread_loops");
  kernel = checked(passes::place_arrays(std::move(kernel), architecture), ir::Form::lowered, "place_arrays");
  if (!debug) {
    kernel = checked(passes::share_loads(std::move(kernel), arrays), ir::Form::lowered, "share_loads");
    kernel = checked(passes::pack_accesses(std::move(kernel), arrays), ir::Form::lowered, "pack_accesses");
  }
  const passes::TileMemoryPlan plan = passes::plan_tile_memory(kernel);
  return checked(passes::with_offsets(std::move(kernel), plan), ir::Form::lowered, "plan_tile_memory");
}

ir::Kernel verified(ir::Kernel kernel) {
  kernel.scheduled = is_tile_kernel(kernel);  // no schedule has tiles
  const ir::Form form = kernel.scheduled ? ir::Form::lowered : ir::Form::structured;
  return checked(std::move(kernel), form, "schedule");
}

ir::Kernel structure(ir::Kernel captured) {
  captured = checked(std::move(captured), ir::Form::captured, "capture");
  captured = checked(passes::number_iterations(captured), ir::Form::captured, "number_iterations");
  captured = checked(passes::structure_jumps(captured), ir::Form::captured, "structure_jumps");
  captured = checked(autodiff::expand_adjoint_calls(captured), ir::Form::captured, "expand_adjoint_calls");
  ir::Kernel structured = checked(passes::promote(captured), ir::Form::structured, "promote");
  return checked(passes::simplify(structured), ir::Form::structured, "simplify");
}

ir::Kernel inline_primals(const ir::Kernel &structured) {
  if (!passes::has_custom_adjoint(structured)) return structured;
  ir::Kernel inlined = checked(passes::inline_primals(structured), ir::Form::structured, "inline_primals");
  return checked(passes::simplify(inlined), ir::Form::structured, "simplify");
}

autodiff::Tangent derive_tangent(const ir::Kernel &structured, const std::vector<bool> &active) {
  autodiff::Tangent tangent = autodiff::derive_tangent(structured, active);
  tangent.kernel = checked(std::move(tangent.kernel), ir::Form::structured, "differentiate");
  return tangent;
}

autodiff::Adjoint derive_adjoint(const ir::Kernel &structured, const std::vector<bool> &active, bool may_alias,
                                 std::optional<std::int64_t> memory_limit) {
  autodiff::Adjoint adjoint = autodiff::derive_adjoint(structured, active, may_alias, memory_limit);
  adjoint.kernel = checked(std::move(adjoint.kernel), ir::Form::structured, "differentiate");
  return adjoint;
}

std::optional<passes::SplitSums> split_sums(const ir::Kernel &structured, std::int64_t parts) {
  std::optional<passes::SplitSums> split = passes::split_sums(structured, parts);
  if (!split) return split;
  split->parts = checked(std::move(split->parts), ir::Form::structured, "split_sums");
  split->rest = checked(std::move(split->rest), ir::Form::structured, "split_sums");
  return split;
}

std::optional<passes::GatheredAdjoint> gather(const ir::Kernel &adjoint, passes::Gathering how) {
  if (how == passes::Gathering::wide && !ir::is_tile_kernel(adjoint)) return std::nullopt;
  auto gathered = ir::is_tile_kernel(adjoint)
                      ? passes::gather_tiles(adjoint, how == passes::Gathering::wide)
                      : passes::gather_adjoint(adjoint, how == passes::Gathering::even_if_slower);
  if (!gathered && ir::is_tile_kernel(adjoint))
    gathered = passes::gather_computed(adjoint, how == passes::Gathering::wide);
  if (!gathered) return gathered;
  if (gathered->before)
    gathered->before = checked(*std::move(gathered->before), ir::Form::structured, "computed_cotangents");
  gathered->gather = checked(std::move(gathered->gather), ir::Form::structured, "gather_adjoint");
  gathered->clear = checked(std::move(gathered->clear), ir::Form::structured, "gather_adjoint");
  return gathered;
}

}  // namespace samite::jit
