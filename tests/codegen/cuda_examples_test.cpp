// The longer examples' kernels and their adjoints for every architecture that Samite is tested for; those of the short
// ones are in cuda_short_examples_test.cpp. Skipped where there is no NVRTC.
#include "examples/chains/chain_kernels.h"
#include "examples/cloth/cloth_kernels.h"
#include "examples/fluid/fluid_kernels.h"
#include "examples/inverse_heat/heat_kernels.h"
#include "examples/nbody/nbody_kernels.h"
#include "examples/ray_marcher/ray_marcher_kernels.h"
#include "tests/codegen/cuda_fits.h"

#include <fmt/core.h>

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

class CudaExamples : public CudaCompilerTest, public testing::WithParamInterface<std::size_t> {};

TEST_P(CudaExamples, FitIntoRegisters) {
  const Example example = examples().at(GetParam());
  expect_fits(example.name, *example.definition);
}

INSTANTIATE_TEST_SUITE_P(Kernels, CudaExamples, testing::Range<std::size_t>(0, examples().size()),
                         [](const auto &test) { return examples()[test.param].name; });

}  // namespace
}  // namespace samite::test
