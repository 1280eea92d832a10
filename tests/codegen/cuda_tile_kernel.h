// Tile kernels and their adjoints, as CUDA runs them and as the CPU does: blocks of 64 threads on the host. And
// compiled by NVIDIA's compiler for every architecture.
#pragma once

#include "samite/codegen/prelude.h"
#include "samite/jit/definition.h"
#include "samite/samite.h"
#include "samite/toolchain/cuda_compiler.h"
#include "tests/codegen/cuda_on_host.h"
#include "tests/toolchain/cuda_sample.h"

#include <fmt/core.h>

#include <cstdlib>

namespace samite::test {

inline constexpr TileOptions of_64{.threads = 64};

// A kernel that stores `function` of one tile.
template <class F>
auto from_tile(F function) {
  return TileKernel{"from_tile",
                    [=](Array<const double, 2> x, Array<double, 2> y) {
                      tile::store(y, {0, 0}, function(tile::load(x, {0, 0}, {12, 17})));
                    },
                    of_64};
}

// Every array has 12 x 17 elements, or 17, and its numbers are the parameter's own.
inline std::vector<double> numbers(const ir::Parameter &parameter, std::size_t seed) {
  std::vector<double> values(parameter.rank == 2 ? 12 * 17 : 17);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(static_cast<double>((i + 1) * (seed + 2) % 1013));
  return values;
}

inline std::vector<std::vector<double>> run(const ir::Kernel &kernel, const std::vector<long long> &blocks, bool cuda) {
  std::vector<std::vector<double>> arrays;
  std::vector<Argument> arguments;
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) arrays.push_back(numbers(kernel.parameters[i], i));
  for (std::size_t i = 0; i < arrays.size(); ++i)
    arguments.push_back(kernel.parameters[i].rank == 2 ? array(arrays[i], {12, 17}) : array(arrays[i], {17}));
  if (cuda)
    CudaOnHost(kernel).run(blocks, arguments);
  else
    CompiledKernel(kernel).run(blocks, arguments);
  return arrays;
}

inline void expect_equal(const ir::Kernel &kernel, const std::vector<long long> &blocks) {
  const auto expected = run(kernel, blocks, false), actual = run(kernel, blocks, true);
  for (std::size_t a = 0; a < expected.size(); ++a)
    for (std::size_t i = 0; i < expected[a].size(); ++i)
      ASSERT_NEAR(actual[a][i], expected[a][i], 1e-11) << kernel.parameters[a].name << ' ' << i;
}

template <class K>
void expect_same(const K &kernel, const std::vector<long long> &blocks) {
  SCOPED_TRACE(kernel.name());
  expect_equal(kernel.ir(), blocks);
  std::uint64_t active = 0;
  for (std::size_t i = 0; i < kernel.ir().parameters.size(); ++i) active |= std::uint64_t{1} << i;
  expect_equal(kernel.definition()->adjoint(active, false).kernel, blocks);
}

inline void expect_compiles(const ir::Kernel &kernel, bool only_planned_memory = false) {
  const codegen::EmittedSource source = emit_for_cuda(kernel, cuda_options());
  for (const std::string &architecture : cuda_architectures()) {
    const auto report =
        compile_cuda({.name = "tiles", .text = source.text}, codegen::cuda_prelude(source.text), architecture)
            .image->report();
    ASSERT_EQ(report.kernels.size(), 1u);
    EXPECT_TRUE(!only_planned_memory || report.kernels[0].shared_bytes == 0)
        << "all of it is asked for when it is launched";
    if (std::getenv("SAMITE_TEST_SHOW"))
      fmt::print("{} {}: {}, {} B planned\n", architecture, kernel.name, report.to_string(), source.tile_memory.bytes);
  }
}

// Spills no more than a few registers, and needs no more shared memory than a block can have.
inline void expect_compiles_for_hopper(const ir::Kernel &kernel) {
  SCOPED_TRACE(kernel.name);
  codegen::EmitOptions options = cuda_options();
  for (codegen::ArrayFacts &facts : options.arrays) facts.unaliased = true;
  const codegen::EmittedSource source = emit_for_cuda(kernel, options);
  const auto report =
      compile_cuda({.name = kernel.name, .text = source.text}, codegen::cuda_prelude(source.text), "sm_90a")
          .image->report();
  if (std::getenv("SAMITE_TEST_SHOW"))
    fmt::print("{}: {}, {} B planned\n", kernel.name, report.to_string(), source.tile_memory.bytes);
  EXPECT_LE(source.tile_memory.bytes, 227 << 10);
  EXPECT_LE(report.kernels.at(0).spill_store_bytes, 16u);
}

}  // namespace samite::test
