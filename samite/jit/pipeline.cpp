#include "samite/jit/pipeline.h"

#include "samite/autodiff/adjoint_call.h"
#include "samite/base/dump.h"
#include "samite/base/error.h"
#include "samite/codegen/parameter_space.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"
#include "samite/ir/visit.h"
#include "samite/jit/main_loops.h"
#include "samite/jit/target.h"
#include "samite/passes/adjoint/exchanges_to_loads.h"
#include "samite/passes/adjoint/gather_tiles.h"
#include "samite/passes/adjoint/inline_primals.h"
#include "samite/passes/adjoint/recomputed_cotangents.h"
#include "samite/passes/adjoint/split_loops.h"
#include "samite/passes/simplify/number_iterations.h"
#include "samite/passes/simplify/promote.h"
#include "samite/passes/simplify/simplify.h"
#include "samite/passes/simplify/structure_jumps.h"
#include "samite/passes/sm90/product_loops.h"
#include "samite/passes/threads/lower_threads.h"
#include "samite/passes/tiles/lower_tiles.h"
#include "samite/passes/tiles/planned_tile.h"
#include "samite/passes/tiles/widen_tile_origins.h"

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

int most_stages(const ir::Kernel &kernel) {
  int stages = 1;
  ir::for_each_statement(kernel.body, [&](const ir::Stmt &stmt) {
    if (const auto *loop = stmt.as<ir::For>()) stages = std::max(stages, loop->stages);
  });
  return stages;
}

// Factors that are computed from loads are prefetched if the shared memory of a block has room for them, or for the
// rings of main loops, which need no memory for a masked factor. `capability` 0: the CPU.
ir::Kernel lower_tiles(const ir::Kernel &structured, int capability, bool in_order,
                       const passes::FactsOfArrays &arrays = {}, int *trials = nullptr) {
  if (capability == 0) return passes::lower_tiles(structured, passes::cpu_architecture());
  const passes::Architecture &gpu = passes::gpu_architecture(capability);
  passes::LoweredTiles tiles = passes::lower_tiles_and_tell(structured, gpu, {.in_order = in_order});
  ir::Kernel &ahead = tiles.kernel;
  if (!tiles.loads_more || fits_shared_memory(passes::lower_threads(ahead), gpu, trials)) return std::move(ahead);
  if (!arrays.empty() && passes::has_product_loops(main_loops_of(passes::lower_threads(ahead), gpu, arrays, trials)))
    return std::move(ahead);
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
    if (fits_shared_memory(passes::lower_threads(lower_tiles(kernel, capability, false)),
                           passes::gpu_architecture(capability)))
      return kernel;
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
      last = checked(passes::exchanges_to_loads(std::move(last)), ir::Form::structured, "exchanges_to_loads");
    last = checked(passes::widen_tile_origins(std::move(last), choices.wide_arrays), ir::Form::structured,
                   "widen_tile_origins");
    if (Target::of(choices.cuda).is_gpu() && last.plan.stages)
      last = checked(passes::with_planned_stages(std::move(last)), ir::Form::structured, "with_planned_stages");
    last = checked(lower_tiles(last, choices.cuda, choices.in_order, choices.arrays, choices.trials), ir::Form::lowered,
                   "lower_tiles");
    if (choices.may_share) {
      passes::CheckedForRaces looking = passes::check_races(last, *choices.may_share);
      lowered.unchecked_for_races = Target::of(choices.cuda).is_gpu() && !codegen::fits_parameter_space(looking.kernel);
      if (!lowered.unchecked_for_races) {
        last = checked(std::move(looking.kernel), ir::Form::lowered, "check_races");
        lowered.races = std::move(looking.races);
      }
    }
  }
  lowered.kernel = checked(passes::lower_threads(std::move(last)), ir::Form::lowered, "lower_threads");
  return lowered;
}

std::vector<std::uint32_t> arrays_of_bulk_copies(ir::Kernel lowered, const passes::Architecture &architecture,
                                                 const passes::FactsOfArrays &arrays, int *trials) {
  std::vector<std::uint32_t> read;
  for (const passes::TensorMapNeeded &map :
       passes::tensor_maps(main_loops_of(std::move(lowered), architecture, arrays, trials)))
    if (std::ranges::find(read, map.array) == read.end()) read.push_back(map.array);
  return read;
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
    gathered = passes::gather_recomputed(adjoint, how == passes::Gathering::wide);
  if (!gathered) return gathered;
  if (gathered->before)
    gathered->before = checked(*std::move(gathered->before), ir::Form::structured, "recomputed_cotangents");
  gathered->gather = checked(std::move(gathered->gather), ir::Form::structured, "gather_adjoint");
  gathered->clear = checked(std::move(gathered->clear), ir::Form::structured, "gather_adjoint");
  return gathered;
}

}  // namespace samite::jit
