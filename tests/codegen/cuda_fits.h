// Checks that a kernel's requirements are met on each architecture that Samite is tested for.
#pragma once

#include "samite/codegen/cuda_launch_shape.h"
#include "samite/codegen/prelude.h"
#include "samite/ir/visit.h"
#include "samite/jit/definition.h"
#include "samite/jit/pipeline.h"
#include "samite/passes/threads/instances_per_thread.h"
#include "samite/passes/threads/lower_threads.h"
#include "samite/passes/threads/march.h"
#include "tests/toolchain/cuda_sample.h"

#include <fmt/core.h>

#include <cstdlib>

namespace samite::test {

// As a launcher would, for large contiguous arrays.
inline codegen::EmittedSource emit_as_launched(const ir::Kernel &kernel) {
  const ir::Kernel lowered = passes::lower_threads(kernel);
  codegen::EmitOptions options;
  options.arrays.assign(kernel.parameters.size(), {.unit_stride = true, .unaliased = true, .aligned_rows = true});
  options.cuda.instances_per_thread = passes::worthwhile_instances_per_thread(lowered);
  const ir::Kernel planned =
      jit::plan(lowered, {passes::gpu_architecture(90),
                          options.arrays,
                          {.instances_per_thread = options.cuda.instances_per_thread, .outgrows_caches = true}});
  options.cuda.march = passes::marched(planned);
  return codegen::emit_cuda(planned, options);
}

inline void expect_fits(const std::string &name, const ir::Kernel &kernel) {
  if (kernel.body.empty()) return;
  bool local_arrays = false;
  ir::for_each_statement(kernel.body,
                         [&](const ir::Stmt &stmt) { local_arrays |= stmt.as<ir::Allocate>() != nullptr; });
  const codegen::EmittedSource source = emit_as_launched(kernel);
  local_arrays |= !source.messages.empty();  // a local array collects their values
  // CUDA's own functions have an array on the stack, by which they reduce large angles.
  const auto calls = [&](const char *function) { return source.text.find(function) != source.text.npos; };
  const std::size_t of_functions = calls("sin(") || calls("cos(") || calls("tan(") ? 40 : 0;
  for (const std::string &architecture : cuda_architectures()) {
    const CudaImageReport report =
        compile_cuda({.name = name, .text = source.text}, codegen::cuda_prelude(source.text), architecture)
            .image->report();
    ASSERT_EQ(report.kernels.size(), 1u) << name;
    const CudaKernelResources &needs = report.kernels[0];
    EXPECT_GT(needs.registers, 0) << name << ' ' << architecture;
    EXPECT_LE(needs.registers, 255) << name << ' ' << architecture;
    EXPECT_LE(needs.shared_bytes, 48u << 10) << name << ' ' << architecture;
    EXPECT_EQ(needs.spill_store_bytes + needs.spill_load_bytes, 0u) << name << ' ' << architecture;
    EXPECT_TRUE(local_arrays || needs.local_bytes <= of_functions)
        << name << ' ' << architecture << ' ' << needs.local_bytes;
    if (std::getenv("SAMITE_TEST_SHOW")) fmt::print("{} {}: {}\n", architecture, name, report.to_string());
  }
}

// Neither a kernel nor its adjoint nor its gathered adjoint spills registers, or has a stack frame for anything but
// local arrays; the other facts of each image are read as well. The adjoint is with respect to every floating array.
inline void expect_fits(const std::string &name, jit::KernelDefinition &definition) {
  std::uint64_t active = 0;
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    const ir::Parameter &parameter = definition.parameters()[i];
    active |= std::uint64_t{parameter.is_array() && is_floating(parameter.type)} << i;
  }
  expect_fits(name, definition.forward());
  if (active == 0) return;
  expect_fits(name + ", adjoint", definition.adjoint(active, false).kernel);
  if (const passes::GatheredAdjoint *gathered = definition.gathered_adjoint(active, passes::Gathering::if_not_slower))
    expect_fits(name + ", gathered adjoint", gathered->gather);
}

}  // namespace samite::test
