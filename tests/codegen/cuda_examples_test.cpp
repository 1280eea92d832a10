// The longer examples' kernels and their adjoints for every architecture that Samite is tested for; those of the short
// ones are in cuda_short_examples_test.cpp. Skipped without NVRTC.
#include "examples/chains/chain_kernels.h"
#include "examples/cloth/cloth_kernels.h"
#include "examples/fluid/fluid_kernels.h"
#include "examples/inverse_heat/heat_kernels.h"
#include "examples/nbody/nbody_kernels.h"
#include "examples/ray_marcher/ray_marcher_kernels.h"
#include "samite/jit/definition.h"
#include "tests/codegen/cuda_fits.h"

#include <fmt/core.h>

namespace samite::test {
namespace {

struct Example {
  const char *of, *kernel;
  std::shared_ptr<jit::KernelDefinition> (*definition)();  // captures it
};

const Example examples[] = {
    {"chains", "step", [] { return chains::step<float>({}).definition(); }},
    {"chains", "begin", [] { return chains::begin<float>({}).definition(); }},
    {"chains", "miss", [] { return chains::miss<float>().definition(); }},
    {"cloth", "cloth_step", [] { return cloth::cloth_step<float>().definition(); }},
    {"cloth", "mismatch", [] { return cloth::mismatch<float>().definition(); }},
    {"fluid", "advect_velocity", [] { return fluid::advect_velocity<float>().definition(); }},
    {"fluid", "divergence", [] { return fluid::divergence<float>().definition(); }},
    {"fluid", "relax_pressure", [] { return fluid::relax_pressure<float>().definition(); }},
    {"fluid", "project", [] { return fluid::project<float>().definition(); }},
    {"fluid", "advect_smoke", [] { return fluid::advect_smoke<float>().definition(); }},
    {"fluid", "mismatch", [] { return fluid::mismatch<float>().definition(); }},
    {"heat", "diffusion_step", [] { return inverse_heat::diffusion_step<float>().definition(); }},
    {"heat", "squared_error", [] { return inverse_heat::squared_error<float>().definition(); }},
    {"heat", "descent_step", [] { return inverse_heat::descent_step().definition(); }},
    {"nbody", "gravity_step", [] { return nbody::gravity_step<float>().definition(); }},
    {"nbody", "mismatch", [] { return nbody::mismatch<float>().definition(); }},
    {"ray_marcher", "render", [] { return ray_marcher::render<float>(3, {}).definition(); }},
    {"ray_marcher", "mismatch", [] { return ray_marcher::mismatch<float>().definition(); }},
};

class CudaExamples : public CudaCompilerTest, public testing::WithParamInterface<std::size_t> {};

TEST_P(CudaExamples, FitIntoRegisters) {
  const Example &example = examples[GetParam()];
  const auto definition = example.definition();
  EXPECT_EQ(definition->name(), example.kernel);
  expect_fits(fmt::format("{}_{}", example.of, example.kernel), *definition);
}

INSTANTIATE_TEST_SUITE_P(Kernels, CudaExamples, testing::Range<std::size_t>(0, std::size(examples)),
                         [](const auto &test) {
                           return fmt::format("{}_{}", examples[test.param].of, examples[test.param].kernel);
                         });

}  // namespace
}  // namespace samite::test
