// What is done to a kernel of the IR before a compiler sees it: each step, and the verifier after it.
#pragma once

#include "samite/autodiff/adjoint.h"
#include "samite/autodiff/adjoint_call.h"
#include "samite/autodiff/tangent.h"
#include "samite/base/error.h"
#include "samite/codegen/emit.h"
#include "samite/ir/verify.h"
#include "samite/ir/visit.h"
#include "samite/passes/cast_copies.h"
#include "samite/passes/check_races.h"
#include "samite/passes/gather_tiles.h"
#include "samite/passes/inline_primals.h"
#include "samite/passes/insert_barriers.h"
#include "samite/passes/interchange.h"
#include "samite/passes/load_in_units.h"
#include "samite/passes/lower_threads.h"
#include "samite/passes/lower_tiles.h"
#include "samite/passes/pipeline_loops.h"
#include "samite/passes/place_arrays.h"
#include "samite/passes/place_tiles.h"
#include "samite/passes/plan_tile_memory.h"
#include "samite/passes/promote.h"
#include "samite/passes/returned_exchanges.h"
#include "samite/passes/side_by_side.h"
#include "samite/passes/simplify.h"
#include "samite/passes/spread_tiles.h"
#include "samite/passes/stage_loads.h"
#include "samite/passes/structure_jumps.h"
#include "samite/passes/sum_over_launch.h"

#include <vector>

namespace samite::fuzz {

inline bool is_well_formed(const ir::Kernel &kernel, ir::Form form) {
  try {
    ir::verify(kernel, form, "the fuzzer");
    return true;
  } catch (const InternalError &) {
    return false;
  }
}

// After it: a pass has made an ill-formed kernel of a well-formed one.
inline ir::Kernel checked(ir::Kernel kernel, ir::Form form, const char *pass) {
  ir::verify(kernel, form, pass);
  return kernel;
}

inline const passes::Architecture &gpu() { return passes::gpu_architecture(90); }

// As the pipeline decides, without what compiles and launches.
inline ir::Kernel planned_for_gpu(const ir::Kernel &lowered, const codegen::EmitOptions &options) {
  constexpr ir::Form form = ir::Form::lowered;
  ir::Kernel kernel = checked(passes::place_arrays(lowered, gpu()), form, "place_arrays");
  if (!options.debug) kernel = checked(passes::sum_over_launch(kernel), form, "sum_over_launch");
  if (!options.debug && options.cuda.instances_per_thread > 1)
    kernel = checked(passes::side_by_side(kernel, {options.cuda.instances_per_thread, options.arrays}), form,
                     "side_by_side");
  if (!is_tile_kernel(kernel)) return kernel;
  kernel = checked(passes::place_tiles(kernel, gpu()), form, "place_tiles");
  kernel = checked(passes::stage_loads(kernel), form, "stage_loads");
  kernel = checked(passes::spread_tiles(kernel, gpu()), form, "spread_tiles");
  kernel = checked(passes::insert_barriers(kernel, passes::shares_memory(options.arrays)), form, "insert_barriers");
  kernel = checked(passes::pipeline_loops(kernel), form, "pipeline_loops");
  kernel = checked(passes::load_in_units(kernel, options.arrays), form, "load_in_units");
  return checked(passes::with_offsets(kernel, passes::plan_tile_memory(kernel)), form, "plan_tile_memory");
}

inline ir::Kernel planned_for_cpu(const ir::Kernel &lowered, const codegen::EmitOptions &options) {
  constexpr ir::Form form = ir::Form::lowered;
  const ir::Kernel kernel = checked(passes::place_arrays(lowered, passes::cpu_architecture()), form, "place_arrays");
  if (options.debug) return kernel;
  return checked(passes::interchange(kernel, options.arrays), form, "interchange");
}

inline void emit(const ir::Kernel &structured) {
  for (const bool cuda : {false, true}) {
    const ir::Kernel tiles = checked(passes::lower_tiles(structured, cuda), ir::Form::lowered, "lower_tiles");
    codegen::EmitOptions options;
    options.debug = structured.parameters.size() % 2 != 0;
    ir::Kernel looking = tiles;
    if (options.debug) {
      const std::vector<bool> may_share(structured.parameters.size(), structured.local_count % 2 != 0);
      looking = checked(passes::check_races(tiles, may_share).kernel, ir::Form::lowered, "check_races");
    }
    const ir::Kernel lowered = checked(passes::lower_threads(looking), ir::Form::lowered, "lower_threads");
    options.cuda.tile_threads = lowered.block_threads;
    options.cuda.grid_stride = true;
    const bool alone = options.debug || passes::uses_workspace(passes::place_arrays(lowered, gpu()));
    if (cuda && !alone && !is_tile_kernel(lowered)) {
      options.cuda.instances_per_thread = 1 << structured.local_count % 4;
      options.arrays.assign(lowered.parameters.size(), {.unit_stride = true, .unaliased = true, .aligned_rows = true});
    }
    if (cuda)
      codegen::emit_cuda(planned_for_gpu(lowered, options), options);
    else
      codegen::emit_cpu(planned_for_cpu(lowered, options), options);
  }
}

// A refusal is an answer; whatever else is thrown is a defect.
template <class Step>
void may_refuse(const Step &step) {
  try {
    step();
  } catch (const UserError &) {
  }
}

inline void derive(const ir::Kernel &inlined_or_not) {
  std::vector<bool> active;
  for (const ir::Parameter &parameter : inlined_or_not.parameters)
    active.push_back(parameter.is_array() && is_floating(parameter.type));
  may_refuse([&] {
    const autodiff::Adjoint adjoint = autodiff::derive_adjoint(inlined_or_not, active, false);
    checked(adjoint.kernel, ir::Form::structured, "derive_adjoint");
    const bool tiles = is_tile_kernel(adjoint.kernel);
    if (const auto gathered =
            tiles ? passes::gather_tiles(adjoint.kernel) : passes::gather_adjoint(adjoint.kernel, true)) {
      checked(gathered->gather, ir::Form::structured, "gather_adjoint");
      checked(gathered->clear, ir::Form::structured, "gather_adjoint");
      if (const auto copies = tiles ? passes::copy_casts(*gathered) : std::nullopt) {
        checked(copies->copy, ir::Form::structured, "copy_casts");
        checked(copies->gather, ir::Form::structured, "copy_casts");
      }
    }
    emit(checked(passes::returned_exchanges(adjoint.kernel), ir::Form::structured, "returned_exchanges"));
  });
  may_refuse([&] {
    checked(autodiff::derive_tangent(inlined_or_not, active).kernel, ir::Form::structured, "derive_tangent");
  });
}

// An adjoint that is being derived, which nothing but its derivation takes.
inline bool is_being_derived(const ir::Kernel &kernel) {
  bool found = false;
  ir::for_each_statement(kernel.body, [&](const ir::Stmt &stmt) {
    const auto *let = stmt.as<ir::Let>();
    found = found || (let && let->value.op == ir::Op::Unavailable);
  });
  return found;
}

inline void run_all(const ir::Kernel &kernel, ir::Form form) {
  ir::Kernel structured = kernel;
  if (form == ir::Form::captured)
    structured =
        checked(passes::promote(checked(autodiff::expand_adjoint_calls(checked(passes::structure_jumps(kernel),
                                                                               ir::Form::captured, "structure_jumps")),
                                        ir::Form::captured, "expand_adjoint_calls")),
                ir::Form::structured, "promote");
  structured = checked(passes::simplify(structured), ir::Form::structured, "simplify");
  if (is_being_derived(structured)) return;
  may_refuse([&] {
    emit(passes::has_custom_adjoint(structured)
             ? checked(passes::simplify(passes::inline_primals(structured)), ir::Form::structured, "inline_primals")
             : structured);
  });
  derive(structured);
}

}  // namespace samite::fuzz
