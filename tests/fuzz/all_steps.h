// The steps of a kernel of the IR before a compiler sees it: those of jit/pipeline.h, which is built here to verify the
// IR after each of them.
#pragma once

#include "samite/base/error.h"
#include "samite/codegen/emit.h"
#include "samite/ir/verify.h"
#include "samite/ir/visit.h"
#include "samite/jit/pipeline.h"
#include "samite/passes/simplify/simplify.h"
#include "samite/passes/threads/place_arrays.h"

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

constexpr int capability = 90;  // of the GPU that is emitted for

inline void emit(const ir::Kernel &structured, bool adjoint) {
  for (const bool cuda : {false, true}) {
    codegen::EmitOptions options;
    options.debug = structured.parameters.size() % 2 != 0;
    jit::LowerChoices choices{.adjoint = adjoint, .cuda = cuda ? capability : 0};
    choices.wide_arrays.assign(structured.parameters.size(), structured.local_count % 8 == 0);
    choices.in_order = structured.local_count % 3 == 0;
    if (options.debug) choices.may_share.emplace(structured.parameters.size(), structured.local_count % 2 != 0);
    const ir::Kernel lowered = jit::lower(structured, choices).kernel;
    if (!cuda) {
      codegen::emit_cpu(jit::plan(lowered, {passes::cpu_architecture(), options.arrays, {.debug = options.debug}}),
                        options);
      continue;
    }
    const passes::Architecture &gpu = passes::gpu_architecture(capability);
    options.cuda.tile_threads = lowered.block_threads;
    options.cuda.grid_stride = true;
    const bool alone = options.debug || passes::uses_workspace(passes::place_arrays(lowered, gpu));
    if (!alone && !is_tile_kernel(lowered)) {
      options.cuda.instances_per_thread = 1 << structured.local_count % 4;
      options.arrays.assign(lowered.parameters.size(), {.unit_stride = true, .unaliased = true, .aligned_rows = true});
    }
    codegen::emit_cuda(jit::plan(lowered, {gpu, options.arrays, {options.debug, options.cuda.instances_per_thread}}),
                       options);
  }
}

// A refusal is an answer; any other exception is a defect.
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
    const autodiff::Adjoint adjoint = jit::derive_adjoint(inlined_or_not, active, false);
    for (const passes::Gathering how : {passes::Gathering::even_if_slower, passes::Gathering::wide}) {
      const auto gathered = jit::gather(adjoint.kernel, how);
      const auto run = gathered ? jit::gathered_to_run(*gathered, capability) : std::nullopt;
      if (!run) continue;
      emit(run->kernel, /*adjoint=*/true);
      for (const ir::Kernel &kernel : run->further) emit(kernel, /*adjoint=*/true);
    }
    emit(adjoint.kernel, /*adjoint=*/true);
  });
  may_refuse([&] { jit::derive_tangent(inlined_or_not, active); });
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
  ir::Kernel structured;
  if (form == ir::Form::captured) {
    structured = jit::structure(kernel);
  } else {
    structured = passes::simplify(kernel);
    ir::verify(structured, form, "simplify");
  }
  if (is_being_derived(structured)) return;
  may_refuse([&] { emit(jit::inline_primals(structured), /*adjoint=*/false); });
  derive(structured);
}

}  // namespace samite::fuzz
