// The examples' kernels and their adjoints for every architecture that Samite is tested for: none of them spills
// registers, or has a stack frame for anything but local arrays. Skipped where there is no NVRTC.
#include "examples/chains/chain_kernels.h"
#include "examples/cloth/cloth_kernels.h"
#include "examples/fluid/fluid_kernels.h"
#include "examples/inverse_heat/heat_kernels.h"
#include "examples/nbody/nbody_kernels.h"
#include "examples/ray_marcher/ray_marcher_kernels.h"
#include "samite/codegen/cuda_launch_shape.h"
#include "samite/codegen/prelude.h"
#include "samite/codegen/side_by_side.h"
#include "samite/ir/visit.h"
#include "samite/passes/lower_threads.h"
#include "tests/toolchain/cuda_sample.h"

#include <fmt/core.h>

#include <cstdlib>

namespace samite::test {
namespace {

struct Example {
  std::string name;
  std::shared_ptr<jit::KernelDefinition> definition;
};

std::vector<Example> examples() {
  std::vector<Example> all;
  auto add = [&](const char *example, const auto &kernel) {
    all.push_back({fmt::format("{}_{}", example, kernel.name()), kernel.definition()});
  };
  add("chains", chains::step<float>({}));
  add("chains", chains::begin<float>({}));
  add("chains", chains::miss<float>());
  add("cloth", cloth::cloth_step<float>());
  add("cloth", cloth::mismatch<float>());
  add("fluid", fluid::advect_velocity<float>());
  add("fluid", fluid::divergence<float>());
  add("fluid", fluid::relax_pressure<float>());
  add("fluid", fluid::project<float>());
  add("fluid", fluid::advect_smoke<float>());
  add("fluid", fluid::mismatch<float>());
  add("heat", inverse_heat::diffusion_step<float>());
  add("heat", inverse_heat::squared_error<float>());
  add("heat", inverse_heat::descent_step());
  add("nbody", nbody::gravity_step<float>());
  add("nbody", nbody::mismatch<float>());
  add("ray_marcher", ray_marcher::render<float>(3, {}));
  add("ray_marcher", ray_marcher::mismatch<float>());
  return all;
}

// As a launcher would, for large contiguous arrays.
codegen::EmittedSource emit(const ir::Kernel &kernel) {
  const ir::Kernel lowered = passes::lower_threads(kernel);
  codegen::EmitOptions options;
  options.arrays.assign(kernel.parameters.size(), {.unit_stride = true, .unaliased = true, .aligned_rows = true});
  options.cuda.instances_per_thread = codegen::worthwhile_instances_per_thread(lowered);
  codegen::EmittedSource source = codegen::emit_cuda(lowered, options);
  if (!codegen::wants_grid_stride(source)) return source;
  options.cuda.grid_stride = true;
  return codegen::emit_cuda(lowered, options);
}

void expect_fits(const std::string &name, const ir::Kernel &kernel) {
  static const std::string prelude = codegen::cuda_prelude();
  if (kernel.body.empty()) return;
  bool local_arrays = false;
  ir::for_each_statement(kernel.body,
                         [&](const ir::Stmt &stmt) { local_arrays |= stmt.as<ir::Allocate>() != nullptr; });
  const codegen::EmittedSource source = emit(kernel);
  for (const std::string &architecture : cuda_architectures()) {
    const CudaImageReport report =
        compile_cuda({.name = name, .text = source.text}, prelude, architecture).image->report();
    ASSERT_EQ(report.kernels.size(), 1u) << name;
    const CudaKernelResources &needs = report.kernels[0];
    EXPECT_EQ(needs.spill_store_bytes + needs.spill_load_bytes, 0u) << name << ' ' << architecture;
    EXPECT_TRUE(local_arrays || needs.local_bytes == 0) << name << ' ' << architecture << ' ' << needs.local_bytes;
    if (std::getenv("SAMITE_TEST_SHOW")) fmt::print("{} {}: {}\n", architecture, name, report.to_string());
  }
}

class CudaExamples : public CudaCompilerTest, public testing::WithParamInterface<std::size_t> {};

TEST_P(CudaExamples, FitIntoRegisters) {
  const Example example = examples().at(GetParam());
  jit::KernelDefinition &definition = *example.definition;
  std::uint64_t active = 0;
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    const ir::Parameter &parameter = definition.parameters()[i];
    active |= std::uint64_t{parameter.is_array() && is_floating(parameter.type)} << i;
  }
  expect_fits(example.name, definition.forward());
  expect_fits(example.name + ", adjoint", definition.adjoint(active, false).kernel);
  if (const passes::GatheredAdjoint *gathered = definition.gathered_adjoint(active, false))
    expect_fits(example.name + ", gathered adjoint", gathered->gather);
}

INSTANTIATE_TEST_SUITE_P(Kernels, CudaExamples, testing::Range<std::size_t>(0, examples().size()),
                         [](const auto &test) { return examples()[test.param].name; });

}  // namespace
}  // namespace samite::test
