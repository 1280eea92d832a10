#include "samite/jit/pipeline.h"

#include "samite/codegen/emit.h"
#include "samite/codegen/prelude.h"
#include "samite/ir/verify.h"
#include "samite/jit/estimate.h"
#include "samite/passes/lower_threads.h"
#include "samite/passes/promote.h"
#include "samite/passes/simplify.h"
#include "samite/passes/structure_jumps.h"
#include "samite/toolchain/host_target.h"

#include <chrono>

namespace samite::jit {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

ir::Kernel checked(ir::Kernel kernel, ir::Form form, [[maybe_unused]] const char *pass) {
#if SAMITE_VERIFY_IR
  ir::verify(kernel, form, pass);
#else
  (void)form;
#endif
  return kernel;
}

// The wide prelude is the same text for every kernel of the machine, so that it is precompiled once.
const std::string &prelude(int vector_bytes) {
  static const std::string text = codegen::cpu_prelude(vector_bytes);
  return text;
}

codegen::EmitOptions emit_options(const Variant &variant) {
  codegen::EmitOptions options;
  options.vector_bytes = host_target().vector_bytes;
  options.debug = variant.key.debug;
  // Without line numbers in it, the text, and so the cached object, stays the same when lines move.
  options.comments = false;
  for (std::uint32_t i = 0; i < variant.parameters.size(); ++i) {
    const ir::Parameter &parameter = variant.parameters[i];
    // A gradient lies in memory as its primal does.
    std::uint64_t bit = std::uint64_t{1} << (parameter.role == ir::Role::Gradient ? parameter.primal : i);
    options.arrays.push_back({(variant.key.unit_stride & bit) != 0, (variant.key.wide_index & bit) != 0, false});
  }
  for (std::uint32_t parameter : variant.summed) options.arrays[parameter].worker_private = true;
  return options;
}

}  // namespace

ir::Kernel structure(ir::Kernel captured) {
  captured = checked(std::move(captured), ir::Form::captured, "capture");
  captured = checked(passes::structure_jumps(captured), ir::Form::captured, "structure_jumps");
  ir::Kernel structured = checked(passes::promote(captured), ir::Form::structured, "promote");
  return checked(passes::simplify(structured), ir::Form::structured, "simplify");
}

autodiff::Tangent derive_tangent(const ir::Kernel &structured, const std::vector<bool> &active) {
  autodiff::Tangent tangent = autodiff::derive_tangent(structured, active);
  tangent.kernel = checked(std::move(tangent.kernel), ir::Form::structured, "differentiate");
  return tangent;
}

autodiff::Adjoint derive_adjoint(const ir::Kernel &structured, const std::vector<bool> &active, bool may_alias) {
  autodiff::Adjoint adjoint = autodiff::derive_adjoint(structured, active, may_alias);
  adjoint.kernel = checked(std::move(adjoint.kernel), ir::Form::structured, "differentiate");
  return adjoint;
}

std::shared_ptr<const Variant> build_variant(KernelDefinition &definition, const VariantKey &key) {
  auto variant = std::make_shared<Variant>();
  variant->key = key;

  const ir::Kernel *kernel = &definition.structured();
  if (key.direction == Direction::adjoint) {
    const autodiff::Adjoint &adjoint = definition.adjoint(key.active, key.may_alias);
    kernel = &adjoint.kernel;
    variant->gradient_of = adjoint.gradient_of;
    variant->values_read = adjoint.values_read;
    variant->times.derive = definition.adjoint_milliseconds(key.active, key.may_alias);
  } else if (key.direction == Direction::tangent) {
    const autodiff::Tangent &tangent = definition.tangent(key.active);
    kernel = &tangent.kernel;
    variant->gradient_of = tangent.gradient_of;
    variant->times.derive = definition.tangent_milliseconds(key.active);
  }
  variant->parameters = kernel->parameters;
  variant->layout = codegen::argument_layout(kernel->parameters);
  variant->cost = cost_of(*kernel);
  for (std::uint32_t i = 0; i < kernel->parameters.size(); ++i) {
    const ir::Parameter &parameter = kernel->parameters[i];
    bool is_gradient = parameter.role == ir::Role::Gradient;
    if (is_gradient != (key.direction == Direction::adjoint)) continue;
    if (key.summed >> (is_gradient ? parameter.primal : i) & 1) variant->summed.push_back(i);
  }
  if (kernel->body.empty()) return variant;  // nothing to compile, nothing to run

  Clock::time_point start = Clock::now();
  ir::Kernel lowered = checked(passes::lower_threads(*kernel), ir::Form::structured, "lower_threads");
  variant->times.lower = milliseconds_since(start);

  start = Clock::now();
  codegen::EmitOptions options = emit_options(*variant);
  codegen::EmittedSource emitted = codegen::emit_cpu(lowered, options);
  variant->source = emitted.text;
  variant->source_files = emitted.files;
  variant->sites = emitted.sites;
  variant->uses_workspace = emitted.uses_workspace;
  variant->lanes = emitted.lanes;
  variant->times.emit = milliseconds_since(start);

  start = Clock::now();
  HostSource source;
  source.name = kernel->name;
  source.text = emitted.text;
  source.debug_info = key.debug;
  CompiledHost compiled = compile_host(source, prelude(options.vector_bytes));
  variant->image = std::move(compiled.image);
  variant->compile = compiled.report;
  variant->entry = variant->image->function<Entry>(emitted.entry.c_str());
  variant->times.compile = milliseconds_since(start);
  return variant;
}

}  // namespace samite::jit
