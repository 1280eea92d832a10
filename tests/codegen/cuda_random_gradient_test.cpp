// The random programs with checked gradients, and their adjoints and tangents, as CUDA kernels, run on the host and
// compared with the CPU kernels' results on the same arrays.
#include "tests/autodiff/random_gradient.h"
#include "tests/codegen/cuda_on_host.h"

#include "samite/ir/print.h"
#include "samite/jit/definition.h"
#include "samite/passes/threads/place_arrays.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace samite::test {
namespace {

constexpr std::uint64_t all_arrays = 0x1f;

struct Memory {
  std::vector<std::vector<double>> arrays;
  std::vector<Argument> arguments;
};

// out, in, work, total and rows, and the gradients or tangents of each.
Memory memory_for(const ir::Kernel &kernel, unsigned seed) {
  using P = RandomProgram;
  const std::vector<long long> extents[] = {
      {P::instances}, {P::inputs}, {P::instances}, {P::totals}, {P::instances, P::row}};
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> values(0.5, 1.5);
  Memory memory;
  memory.arrays.reserve(kernel.parameters.size());
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const ir::Parameter &parameter = kernel.parameters[i];
    const auto &of = extents[parameter.role == ir::Role::Gradient ? parameter.primal : i];
    std::size_t size = 1;
    for (const long long extent : of) size *= static_cast<std::size_t>(extent);
    std::vector<double> elements(size);
    for (double &element : elements) element = values(random);
    memory.arguments.push_back(array(memory.arrays.emplace_back(std::move(elements)), of));
  }
  return memory;
}

void expect_as_on_the_cpu(const ir::Kernel &kernel, unsigned seed) {
  Memory expected = memory_for(kernel, seed), got = memory_for(kernel, seed);
  const std::vector<long long> extents{RandomProgram::instances};
  const CompiledKernel reference(kernel);
  EXPECT_EQ(reference.run(extents, expected.arguments).state, 0u);

  codegen::EmitOptions options = cuda_options(seed % 3 != 0, seed % 5 == 0);
  options.cuda.threads_per_block = 4;
  for (codegen::ArrayFacts &facts : options.arrays) facts.unaliased = true;
  const ir::Kernel planned = plan_for_cuda(kernel, options);
  options.cuda.grid_stride = planned.grid.strides || seed % 4 == 0;
  if (!passes::uses_workspace(planned)) options.cuda.instances_per_thread = 1 << seed % 3;
  CudaOnHost cuda(kernel, options);
  cuda.workspace_per_thread = 1 << 16;
  EXPECT_EQ(cuda.run(extents, got.arguments).failure.state, 0u);
  for (std::size_t i = 0; i < got.arrays.size(); ++i)
    for (std::size_t at = 0; at < got.arrays[i].size(); ++at) {
      const double is = got.arrays[i][at], should = expected.arrays[i][at];
      // Vector functions round differently from scalar ones.
      ASSERT_LE(std::abs(is - should), 1e-9 * (1 + std::abs(should)))
          << "seed " << seed << ", parameter " << i << ", element " << at << '\n'
          << to_string(kernel) << cuda.source().text;
    }
}

// How many in each part.
unsigned programs() {
  const char *more = std::getenv("SAMITE_TEST_RANDOM_PROGRAMS");
  return more ? static_cast<unsigned>(std::atoi(more)) : 3;
}

// In parts, so that they run side by side.
class CudaRandomGradients : public testing::TestWithParam<unsigned> {};

TEST_P(CudaRandomGradients, AreThoseOfTheCpu) {
  for (unsigned seed = GetParam() * programs(); seed < (GetParam() + 1) * programs(); ++seed) {
    const Kernel kernel{"random", RandomProgram(seed)};
    expect_as_on_the_cpu(kernel.definition()->forward(), seed);
    expect_as_on_the_cpu(kernel.definition()->tangent(all_arrays).kernel, seed);
    try {
      expect_as_on_the_cpu(kernel.definition()->adjoint(all_arrays, false).kernel, seed);
    } catch (const UserError &) {
      // Refused: there is no adjoint.
    }
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, CudaRandomGradients, testing::Range(0u, 5u));

}  // namespace
}  // namespace samite::test
