// The CUDA schedules of the example pipelines, without a GPU: NVIDIA's compiler accepts them without spills, and their
// results on the host, thread by thread, are those of the CPU's schedules.
#include "examples/pipelines/bilateral_grid.h"
#include "examples/pipelines/blur.h"
#include "examples/pipelines/conv_layer.h"
#include "examples/pipelines/depthwise_separable.h"
#include "examples/pipelines/harris.h"
#include "examples/pipelines/histogram.h"
#include "examples/pipelines/local_laplacian.h"
#include "examples/pipelines/matmul.h"
#include "examples/pipelines/nl_means.h"
#include "examples/pipelines/recursive_filter.h"
#include "examples/pipelines/stencil_chain.h"
#include "examples/pipelines/tensor_product.h"
#include "examples/pipelines/tensor_product_steps.h"
#include "examples/pipelines/unsharp.h"
#include "samite/codegen/prelude.h"
#include "samite/jit/definition.h"
#include "tests/schedule/program_on_host.h"
#include "tests/toolchain/cuda_sample.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

namespace samite::test {
namespace {

// Its arguments, the first of which it fills, and the largest allowed difference between results.
struct Example {
  const char *name;
  std::shared_ptr<jit::PipelineDefinition> (*definition)();
  std::vector<AnyBuffer> (*arguments)();
  double tolerance = 2e-6;  // of the largest element
  std::string schedule = {};
};

// Random numbers from 0 to 1.
double mixed(std::uint32_t i) {
  i = (i ^ i >> 16) * 0x7FEB352Du;
  i = (i ^ i >> 15) * 0x846CA68Bu;
  return (i ^ i >> 16) / 4294967296.0;
}
template <class T = float>
Buffer<T> filled(std::initializer_list<std::int64_t> extents, double most = 1, std::uint32_t seed = 0) {
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) count *= extent;
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<T>(most * mixed(static_cast<std::uint32_t>(i) + seed * 1'000'003u)));
  return Buffer<T>(Device::cpu(), Extents(extents), values);
}
// Smooth except for noise, from 0 to 1.
Buffer<float> picture(std::int64_t channels, std::int64_t rows, std::int64_t columns) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < channels * rows * columns; ++i) {
    const auto x = static_cast<double>(i % columns), y = static_cast<double>(i / columns % rows);
    values.push_back(
        static_cast<float>(0.4 + 0.3 * std::sin(x / 9 + y / 14) + 0.2 * mixed(static_cast<std::uint32_t>(i))));
  }
  if (channels == 1) return {Device::cpu(), {rows, columns}, values};
  return {Device::cpu(), {channels, rows, columns}, values};
}
template <class T = float>
Buffer<T> empty(std::initializer_list<std::int64_t> extents) {
  return Buffer<T>(Device::cpu(), Extents(extents));
}
// For each offset the points in another order; this many of them are named.
Buffer<std::int32_t> map(std::int64_t offsets, std::int64_t pairs, std::int64_t points, std::int64_t step) {
  std::vector<std::int32_t> values;
  for (std::int64_t n = 0; n < offsets; ++n)
    for (std::int64_t p = 0; p < pairs; ++p) values.push_back(static_cast<std::int32_t>((p * step + 5 * n) % points));
  return {Device::cpu(), {offsets, pairs}, values};
}
std::vector<AnyBuffer> sparse(std::int64_t offsets) {
  constexpr std::int64_t points = 149, pairs = 131;
  return {empty({points, 64}), filled({points, 64}), filled({offsets, 64, 64}, 1, 1), map(offsets, pairs, points, 7),
          map(offsets, pairs, points, 11)};
}

const std::vector<Example> examples{
    {"tensor_product", [] { return pipelines::tensor_product().definition(); }, [] { return sparse(2); }},
    {"tensor_product_first", [] { return pipelines::tensor_product_steps().definition(); }, [] { return sparse(27); },
     2e-6, "first"},
    {"tensor_product_tiled", [] { return pipelines::tensor_product_steps().definition(); }, [] { return sparse(27); },
     2e-6, "tiled"},
    {"blur", [] { return pipelines::blur().definition(); },
     [] { return std::vector<AnyBuffer>{empty({37, 70}), picture(1, 37, 70)}; }},
    {"unsharp", [] { return pipelines::unsharp().definition(); },
     [] { return std::vector<AnyBuffer>{empty({3, 35, 50}), picture(3, 35, 50)}; }},
    {"harris", [] { return pipelines::harris().definition(); },
     [] { return std::vector<AnyBuffer>{empty({33, 41}), picture(3, 39, 47)}; }, 2e-5},
    {"bilateral_grid", [] { return pipelines::bilateral_grid().definition(); },
     [] { return std::vector<AnyBuffer>{empty({37, 42}), picture(1, 37, 42)}; }, 1e-5},
    {"histogram", [] { return pipelines::histogram().definition(); },
     [] { return std::vector<AnyBuffer>{empty<std::uint8_t>({3, 30, 37}), filled<std::uint8_t>({3, 30, 37}, 256)}; },
     1 / 255.0},
    {"nl_means", [] { return pipelines::nl_means().definition(); },
     [] { return std::vector<AnyBuffer>{empty({3, 17, 35}), picture(3, 17, 35)}; }, 1e-5},
    {"recursive_filter", [] { return pipelines::recursive_filter().definition(); },
     [] { return std::vector<AnyBuffer>{empty({3, 21, 38}), picture(3, 21, 38)}; }, 1e-5},
    {"matmul", [] { return pipelines::matmul().definition(); },
     [] { return std::vector<AnyBuffer>{empty({70, 90}), filled({70, 33}), filled({33, 90}, 1, 1)}; }},
    {"conv_layer", [] { return pipelines::conv_layer().definition(); },
     [] {
       return std::vector<AnyBuffer>{empty({2, 2, 43, 128}), filled({2, 4, 45, 128}), filled({128, 3, 3, 128}, 1, 1),
                                     filled({128})};
     }},
    {"depthwise_separable", [] { return pipelines::depthwise_separable().definition(); },
     [] {
       return std::vector<AnyBuffer>{empty({2, 7, 11, 16}), filled({2, 7, 11, 32}), filled({3, 3, 32}, 1, 1),
                                     filled({32, 16}, 1, 2), filled({16})};
     }},
    {"stencil_chain", [] { return pipelines::stencil_chain().definition(); },
     [] { return std::vector<AnyBuffer>{empty({11, 18, 37}), filled({11, 18, 37})}; }},
};

// local_laplacian_test.cpp compares its result with a hand-written filter.
const Example local_laplacian{"local_laplacian", [] { return pipelines::local_laplacian().definition(); }, {}};

class CudaPipelineExamples : public testing::TestWithParam<Example> {};
class CudaPipelineExamplesCompile : public CudaCompilerTest, public testing::WithParamInterface<Example> {};

std::vector<double> elements(const AnyBuffer &buffer) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < buffer.extents().count(); ++i)
    values.push_back(buffer.type() == ScalarType::UInt8 ? static_cast<const std::uint8_t *>(buffer.data())[i]
                                                        : static_cast<const float *>(buffer.data())[i]);
  return values;
}

TEST_P(CudaPipelineExamples, ComputeWhatTheCpuComputes) {
  const Example &example = GetParam();
  const auto definition = example.definition();
  std::vector<AnyBuffer> buffers = example.arguments();
  const auto views = [&] {
    std::vector<jit::Argument> arguments;
    for (const AnyBuffer &buffer : buffers) arguments.push_back({&buffer});
    return arguments;
  };
  const std::vector<jit::Argument> on_cpu = views();
  jit::launch_pipeline(definition, {}, on_cpu, {});
  const std::vector<double> expected = elements(buffers[0]);
  buffers[0] = AnyBuffer(Device::cpu(), buffers[0].type(), buffers[0].extents());
  const std::vector<jit::Argument> as_on_cuda = views();
  run_on_host(*cuda_program(*definition, example.schedule), as_on_cuda,
              {.grid = HostBlocks::Grid::few, .order = {ThreadOrder::Kind::LastToFirst}});
  const std::vector<double> found = elements(buffers[0]);
  ASSERT_EQ(found.size(), expected.size());
  double largest = 0, worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    worst = std::max(worst, std::isfinite(found[i]) ? std::abs(found[i] - expected[i]) : INFINITY);
  }
  EXPECT_GT(largest, 0);
  EXPECT_LE(worst, example.tolerance * largest);
}

TEST_P(CudaPipelineExamplesCompile, SpillNothing) {
  const auto definition = GetParam().definition();
  for (const codegen::EmittedSource &emitted : emitted_for_cuda(*cuda_program(*definition, GetParam().schedule))) {
    const CudaImageReport report =
        compile_cuda({.name = GetParam().name, .text = emitted.text}, codegen::cuda_prelude(emitted.text), "sm_90a")
            .image->report();
    ASSERT_EQ(report.kernels.size(), 1u);
    const CudaKernelResources &needs = report.kernels[0];
    EXPECT_LE(needs.registers, 255) << emitted.entry;
    EXPECT_EQ(needs.spill_store_bytes + needs.spill_load_bytes, 0u) << emitted.entry;
    EXPECT_EQ(needs.local_bytes, 0u) << emitted.entry;
    EXPECT_LE(emitted.tile_memory.bytes, 48 << 10) << emitted.entry;
    if (std::getenv("SAMITE_TEST_SHOW")) fmt::print("{}: {}\n", emitted.entry, report.to_string());
  }
}

std::string name_of(const testing::TestParamInfo<Example> &test) { return test.param.name; }
INSTANTIATE_TEST_SUITE_P(Schedules, CudaPipelineExamples, testing::ValuesIn(examples), name_of);
INSTANTIATE_TEST_SUITE_P(Schedules, CudaPipelineExamplesCompile, testing::ValuesIn(examples), name_of);
INSTANTIATE_TEST_SUITE_P(LongSchedule, CudaPipelineExamplesCompile, testing::Values(local_laplacian), name_of);

}  // namespace
}  // namespace samite::test
