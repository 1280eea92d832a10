// Operations of networks that read indices (samite/ops/) as CUDA text: run on the host and compared with the CPU, and
// compiled by NVIDIA's compiler.
#include "samite/jit/definition.h"
#include "samite/ops/convolution.h"
#include "samite/ops/experts.h"
#include "samite/ops/fourier.h"
#include "samite/ops/integer_weights.h"
#include "samite/ops/packed_attention.h"
#include "samite/ops/paged_attention.h"
#include "tests/codegen/cuda_tile_kernel.h"

#include <cmath>
#include <variant>

namespace samite::test {
namespace {

using Extents64 = std::vector<long long>;
constexpr ops::PlanDevice hopper_device{90, 132};

// An argument of a launch: an array of given numbers, or of its own ones, or a number.
struct GivenArray {
  Extents64 extents;
  std::vector<std::int32_t> integers = {};  // for arrays of int32
};
using Given = std::variant<GivenArray, float, std::int32_t>;

template <class T>
std::vector<T> own_values(const Extents64 &extents, std::size_t seed) {
  long long count = 1;
  for (const long long extent : extents) count *= extent;
  std::vector<T> values;
  for (long long i = 0; i < count; ++i)
    values.push_back(static_cast<T>(static_cast<float>(std::sin(double((i + 1) * (long(seed) + 3) % 1013)))));
  return values;
}

// All values of a byte.
template <class T>
std::vector<T> own_integers(const Extents64 &extents, std::size_t seed) {
  std::vector<T> values;
  for (const float value : own_values<float>(extents, seed))
    values.push_back(static_cast<T>(std::lround(value * 127) + (std::same_as<T, std::uint8_t> ? 128 : 0)));
  return values;
}

struct LaunchOnHost {
  std::vector<std::vector<half>> halves;
  std::vector<std::vector<float>> floats;
  std::vector<std::vector<std::int8_t>> bytes;
  std::vector<std::vector<std::uint8_t>> pairs;
  std::vector<std::vector<std::int32_t>> integers;

  LaunchOnHost(const ops::PlannedLaunch &planned, const std::vector<Given> &given, bool cuda) {
    const ir::Kernel &kernel = planned.kernel->forward();
    halves.reserve(given.size()), floats.reserve(given.size());
    bytes.reserve(given.size()), pairs.reserve(given.size()), integers.reserve(given.size());
    std::vector<Argument> arguments;
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (const auto *number = std::get_if<float>(&given[i])) {
        arguments.push_back(scalar(*number));
      } else if (const auto *integer = std::get_if<std::int32_t>(&given[i])) {
        arguments.push_back(scalar(*integer));
      } else {
        const GivenArray &of = std::get<GivenArray>(given[i]);
        switch (kernel.parameters[i].type) {
          case ScalarType::Float16: add(halves, own_values<half>(of.extents, i), of, arguments); break;
          case ScalarType::Int8: add(bytes, own_integers<std::int8_t>(of.extents, i), of, arguments); break;
          case ScalarType::UInt8: add(pairs, own_integers<std::uint8_t>(of.extents, i), of, arguments); break;
          case ScalarType::Int32:
            add(integers,
                of.integers.empty() ? std::vector<std::int32_t>(own_values<float>(of.extents, i).size()) : of.integers,
                of, arguments);
            break;
          default: add(floats, own_values<float>(of.extents, i), of, arguments);
        }
      }
    }
    const Extents64 blocks{planned.blocks.begin(), planned.blocks.end()};
    if (cuda)
      CudaOnHost(kernel, cuda_options(), false, 1).run(blocks, arguments);
    else
      CompiledKernel(kernel).run(blocks, arguments);
  }

 private:
  template <class T>
  static void add(std::vector<std::vector<T>> &arrays, std::vector<T> values, const GivenArray &of,
                  std::vector<Argument> &arguments) {
    arguments.push_back(array(arrays.emplace_back(std::move(values)), of.extents));
  }
};

void expect_same_layer(const ops::PlannedLaunch &planned, const std::vector<Given> &given, double tolerance) {
  SCOPED_TRACE(planned.kernel->name());
  const LaunchOnHost expected(planned, given, false), actual(planned, given, true);
  const auto compare = [&](const auto &of_cpu, const auto &of_cuda) {
    for (std::size_t a = 0; a < of_cpu.size(); ++a)
      for (std::size_t i = 0; i < of_cpu[a].size(); ++i)
        ASSERT_NEAR(static_cast<double>(static_cast<float>(of_cuda[a][i])),
                    static_cast<double>(static_cast<float>(of_cpu[a][i])), tolerance)
            << a << ' ' << i;
  };
  compare(expected.halves, actual.halves);
  compare(expected.floats, actual.floats);
  compare(expected.bytes, actual.bytes);
  compare(expected.pairs, actual.pairs);
  compare(expected.integers, actual.integers);
}

// Sequences that end within a tile, an empty one, and two heads of q for each of k.
TEST(ReadyLayers, PackedAttentionAndItsAdjointOnCuda) {
  const GivenArray q{{2, 70, 16}}, k{{1, 60, 16}}, rows{{2, 70}};
  const GivenArray q_offsets{{4}, {0, 3, 3, 70}}, k_offsets{{4}, {0, 20, 21, 60}};
  const auto planned =
      ops::packed_attention_launches(ScalarType::Float16, {3, 2, 70, 16, 60, 2}, {.add_gradients = true}, {80, 108});
  constexpr std::int32_t before = 1 << 30;
  expect_same_layer(planned.forward, {q, k, k, q_offsets, k_offsets, q, rows, 0.25f, before, 0}, 4e-3);
  expect_same_layer(planned.row_products, {q, q, rows, rows}, 1e-5);
  expect_same_layer(planned.of_queries, {q, k, k, q_offsets, k_offsets, rows, rows, q, q, 0.25f, before, 0}, 4e-2);
  expect_same_layer(planned.of_keys, {q, k, k, q_offsets, k_offsets, rows, rows, q, k, k, 0.25f, before, 0}, 4e-2);
}

TEST(ReadyLayers, PagedAttentionOnCuda) {
  const auto planned = ops::paged_attention_launches(ScalarType::Float16, {2, 4, 1, 16, 16, 3, 2}, 2, hopper_device);
  const GivenArray q{{2, 4, 1, 16}}, pages{{7, 2, 16, 16}}, table{{2, 3}, {5, 0, -1, 6, 2, 3}}, lengths{{2}, {20, 48}};
  const GivenArray results{{2, 8, 1, 16}}, sums{{2, 8, 1}}, row_sums{{2, 4, 1}};
  expect_same_layer(planned.parts, {q, pages, pages, table, lengths, results, sums, 0.25f, 1 << 30}, 4e-3);
  expect_same_layer(planned.combine, {results, sums, q, row_sums}, 2e-3);
}

// Strides, so that a place of x contributes to only some places of the kernel; two groups; and sums in parts.
TEST(ReadyLayers, ConvolutionAndItsAdjointOnCuda) {
  const ops::ConvolutionShape shape{20, 2, 4, 3, {9, 10, 1}, {3, 2, 1}, {5, 5, 1}, {2, 2, 1}};
  const auto planned = ops::convolution_launches(ScalarType::Float16, shape, true, true, hopper_device);
  EXPECT_EQ(planned.part_count, 2);
  const GivenArray x{{20, 9, 10, 8}}, weights{{6, 3, 2, 4}}, bias{{6}}, y{{20, 5, 5, 6}};
  const GivenArray parts{{6 * planned.part_count, 3, 2, 4}}, bias_parts{{planned.part_count, 6}};
  const auto with_places = [](std::vector<Given> given) {
    for (const std::int32_t place : {1, 0, 0, 1, 1, 1}) given.push_back(place);
    return given;
  };
  expect_same_layer(planned.forward, with_places({x, weights, bias, y}), 1e-2);
  expect_same_layer(planned.of_x, with_places({y, weights, x}), 1e-2);
  expect_same_layer(planned.weight_parts, with_places({x, y, parts}), 1e-4);
  expect_same_layer(planned.of_weights, {parts, weights}, 1e-2);
  expect_same_layer(planned.bias_parts, {y, bias_parts}, 1e-4);
  expect_same_layer(planned.of_bias, {bias_parts, bias}, 1e-2);
}

TEST(ReadyLayers, StepsOfExpertsOnCuda) {
  const auto planned = ops::expert_launches(ScalarType::Float16, {70, 5, 2, 40}, true, hopper_device);
  const GivenArray logits{{70, 5}}, weights{{70, 2}}, x{{70, 40}}, rows{{140, 40}}, flat_weights{{140}};
  std::vector<std::int32_t> numbers, order;
  for (int i = 0; i < 140; ++i) numbers.push_back(i * 7 % 5), order.push_back(i * 3 % 140);
  const GivenArray experts{{70, 2}, numbers}, flat{{140}, numbers}, entries{{140}, order}, places{{70, 2}, order};
  expect_same_layer(planned.choose, {logits, GivenArray{{70, 2}}, weights}, 1e-5);
  expect_same_layer(planned.order, {flat, GivenArray{{140}}, GivenArray{{140}}, GivenArray{{6}}}, 0);
  expect_same_layer(planned.of_logits, {logits, experts, weights, logits}, 4e-3);
  expect_same_layer(planned.dispatch, {x, entries, GivenArray{{1}}, rows}, 0);
  expect_same_layer(planned.of_x, {rows, places, GivenArray{{1, 1}}, x}, 4e-3);
  expect_same_layer(planned.combine, {rows, places, weights, x}, 4e-3);
  expect_same_layer(planned.of_rows, {x, entries, flat_weights, rows}, 4e-3);
  expect_same_layer(planned.of_weights, {x, rows, places, weights}, 1e-4);
}

TEST(ReadyLayers, IntegerWeightsOnCuda) {
  const ops::IntegerWeightShape shape{20, 70, 96, 3};
  const GivenArray a{{20, 96}}, scales{{70, 3}}, bias{{70}}, c{{20, 70}}, w{{70, 96}};
  for (const int bits : {8, 4}) {
    const GivenArray weights{{70, bits == 8 ? 96 : 48}};
    const auto planned = ops::integer_weight_launches(
        {ScalarType::Float16, bits, bits == 4, true, ops::Activation::silu}, shape, hopper_device);
    expect_same_layer(planned.product, {a, weights, scales, scales, bias, c}, bits == 8 ? 1.0 : 0.1);
    expect_same_layer(planned.quantisation, {w, weights, scales}, 0);
  }
}

TEST(ReadyLayers, FourierTransformsOnCuda) {
  const auto short_ones = ops::fft_launches(ScalarType::Float32, 20, 24, {.add = true}, hopper_device);
  const GivenArray x{{20, 24, 2}};
  expect_same_layer(short_ones.last, {x, x, 0.5f}, 1e-4);
  const auto long_ones = ops::fft_launches(ScalarType::Float32, 2, 5000, {.inverse = true}, hopper_device);
  ASSERT_EQ(long_ones.n1 * long_ones.n2, 5000);
  const GivenArray matrices{{2, long_ones.n1, long_ones.n2, 2}}, steps{{2, long_ones.n2, long_ones.n1, 2}};
  expect_same_layer(*long_ones.first, {matrices, steps}, 1e-5);
  expect_same_layer(long_ones.last, {steps, steps, 2.0f}, 1e-5);
}

class ReadyLayersCompiled : public CudaCompilerTest {};

void expect_layer_compiles(const ops::PlannedLaunch &planned) { expect_compiles_for_hopper(planned.kernel->forward()); }

TEST_F(ReadyLayersCompiled, AttentionOfSequencesAndPages) {
  const auto packed = ops::packed_attention_launches(ScalarType::BFloat16, {8, 8, 8000, 128, 8000, 4},
                                                     {.add_gradients = true}, hopper_device);
  for (const ops::PlannedLaunch &planned : {packed.forward, packed.row_products, packed.of_queries, packed.of_keys})
    expect_layer_compiles(planned);
  const auto paged =
      ops::paged_attention_launches(ScalarType::BFloat16, {8, 32, 1, 128, 64, 100, 4}, std::nullopt, hopper_device);
  EXPECT_GT(paged.part_count, 1);
  for (const ops::PlannedLaunch &planned : {paged.parts, paged.combine}) expect_layer_compiles(planned);
}

TEST_F(ReadyLayersCompiled, StepsOfExperts) {
  const auto planned = ops::expert_launches(ScalarType::BFloat16, {8192, 64, 8, 2048}, true, hopper_device);
  for (const ops::PlannedLaunch &launch : {planned.choose, planned.order, planned.of_logits, planned.dispatch,
                                           planned.of_x, planned.combine, planned.of_weights})
    expect_layer_compiles(launch);
}

TEST_F(ReadyLayersCompiled, IntegerWeights) {
  for (const int bits : {8, 4}) {
    const auto planned = ops::integer_weight_launches({ScalarType::BFloat16, bits, true, true, ops::Activation::silu},
                                                      {64, 4096, 4096, 32}, hopper_device);
    for (const ops::PlannedLaunch &launch : {planned.product, planned.quantisation}) expect_layer_compiles(launch);
  }
}

TEST_F(ReadyLayersCompiled, FourierTransforms) {
  expect_layer_compiles(ops::fft_launches(ScalarType::Float32, 1000, 4096, {}, hopper_device).last);
  const auto planned = ops::fft_launches(ScalarType::Float32, 16, 1 << 20, {}, hopper_device);
  for (const ops::PlannedLaunch &launch : {*planned.first, planned.last}) expect_layer_compiles(launch);
}

TEST_F(ReadyLayersCompiled, Convolutions) {
  const ops::ConvolutionShape shape{8, 1, 128, 256, {56, 56, 1}, {3, 3, 1}, {28, 28, 1}, {2, 2, 1}};
  const auto planned = ops::convolution_launches(ScalarType::BFloat16, shape, true, true, hopper_device);
  for (const ops::PlannedLaunch &launch : {planned.forward, planned.of_x, planned.weight_parts, planned.of_weights})
    expect_layer_compiles(launch);
}

}  // namespace
}  // namespace samite::test
