// The library's operations (samite/ops/) as CUDA text: run on the host and compared with the CPU, and compiled by
// NVIDIA's compiler.
#include "samite/jit/definition.h"
#include "samite/jit/pipeline.h"
#include "samite/ops/attention.h"
#include "samite/ops/cross_entropy.h"
#include "samite/ops/group_norm.h"
#include "samite/ops/grouped_by_type.h"
#include "samite/ops/grouped_terms.h"
#include "samite/ops/layer_norm.h"
#include "samite/ops/matmul_by_type.h"
#include "samite/ops/rms_norm.h"
#include "samite/ops/rotary.h"
#include "samite/ops/softmax.h"
#include "tests/codegen/cuda_tile_kernel.h"

namespace samite::test {
namespace {

constexpr ops::PlanDevice hopper{90, 132};

using Extents64 = std::vector<long long>;

// An array of a launch, with numbers that are the parameter's own.
template <class T>
struct Array64 {
  Extents64 extents;
  std::vector<T> values;

  Array64(Extents64 of, std::size_t seed) : extents(std::move(of)) {
    long long count = 1;
    for (const long long extent : extents) count *= extent;
    for (long long i = 0; i < count; ++i)
      values.push_back(static_cast<T>(static_cast<float>(std::sin(double((i + 1) * (long(seed) + 3) % 1013)))));
  }
};

// The kernel has arrays of T and of S, and then possibly a number.
template <class T, class S>
void expect_same_on_cuda(const ir::Kernel &kernel, const Extents64 &blocks, const std::vector<Extents64> &extents,
                         std::optional<S> number, double tolerance) {
  SCOPED_TRACE(kernel.name);
  std::vector<std::vector<Array64<T>>> arrays(2);
  std::vector<std::vector<Array64<S>>> sums(2);
  for (const bool cuda : {false, true}) {
    std::vector<Argument> arguments;
    auto &own = arrays[cuda];
    auto &own_sums = sums[cuda];
    own.reserve(extents.size()), own_sums.reserve(extents.size());
    for (std::size_t i = 0; i < extents.size(); ++i)
      if (kernel.parameters[i].type == scalar_type_of<S>)
        arguments.push_back(array(own_sums.emplace_back(extents[i], i).values, extents[i]));
      else
        arguments.push_back(array(own.emplace_back(extents[i], i).values, extents[i]));
    if (number) arguments.push_back(scalar(*number));
    if (cuda)
      CudaOnHost(kernel, cuda_options(), false, 1).run(blocks, arguments);
    else
      CompiledKernel(kernel).run(blocks, arguments);
  }
  const auto compare = [&](const auto &expected, const auto &actual) {
    for (std::size_t a = 0; a < expected.size(); ++a)
      for (std::size_t i = 0; i < expected[a].values.size(); ++i)
        ASSERT_NEAR(static_cast<double>(static_cast<float>(actual[a].values[i])),
                    static_cast<double>(static_cast<float>(expected[a].values[i])), tolerance)
            << a << ' ' << i;
  };
  compare(arrays[0], arrays[1]);
  compare(sums[0], sums[1]);
}

const ir::Kernel &kernel_of(const ops::PlannedLaunch &planned) { return planned.kernel->forward(); }
Extents64 blocks_of(const ops::PlannedLaunch &planned) { return {planned.blocks.begin(), planned.blocks.end()}; }

// On the host, as emitted for the CPU or for CUDA.
void run_planned(const ops::PlannedLaunch &planned, bool cuda, const std::vector<Argument> &arguments) {
  if (cuda)
    CudaOnHost(kernel_of(planned), cuda_options(), false, 1).run(blocks_of(planned), arguments);
  else
    CompiledKernel(kernel_of(planned)).run(blocks_of(planned), arguments);
}

TEST(ReadyOperations, SoftmaxOnCuda) {
  for (const long long columns : {100, 8300}) {
    const auto planned = ops::softmax_launch(ScalarType::Float32, 3, columns, hopper);
    expect_same_on_cuda<float, double>(kernel_of(planned), blocks_of(planned), {{3, columns}, {3, columns}}, {}, 1e-6);
  }
}

TEST(ReadyOperations, SoftmaxAdjointOnCuda) {
  for (const long long columns : {100, 8300}) {
    const auto planned = ops::softmax_adjoint_launch(ScalarType::Float32, 3, columns, hopper);
    const Extents64 matrix{3, columns};
    expect_same_on_cuda<float, double>(kernel_of(planned), blocks_of(planned), {matrix, matrix, matrix}, {}, 1e-3);
  }
}

TEST(ReadyOperations, LayerNormOnCuda) {
  const auto planned = ops::layer_norm_launch(ScalarType::Float16, true, 3, 100, hopper);
  expect_same_on_cuda<half, float>(kernel_of(planned), blocks_of(planned), {{3, 100}, {100}, {100}, {3, 100}}, 1e-5f,
                                   2e-3);
}

// Blocks of several tiles of rows, the last of them beyond the matrix; rows in parts; and no epsilon.
TEST(ReadyOperations, LayerNormAdjointOnCuda) {
  for (const auto &[rows, columns, tiles, epsilon] :
       {std::tuple{300LL, 100LL, 19, 1e-5f}, {290LL, 60LL, 10, 0.0f}, {9LL, 8300LL, 9, 1e-5f}}) {
    const auto planned = ops::layer_norm_adjoint_launch(ScalarType::Float16, rows, columns, {90, 1});
    EXPECT_LE(2 * planned.blocks[0], tiles + 1);
    const Extents64 matrix{rows, columns}, row{columns};
    expect_same_on_cuda<half, float>(kernel_of(planned), blocks_of(planned), {matrix, row, matrix, matrix, row, row},
                                     epsilon, 1e-2);
  }
}

// Blocks of several tiles of rows, the last of them beyond the matrix; and rows in parts.
TEST(ReadyOperations, RmsNormAdjointOnCuda) {
  for (const auto &[rows, columns] : {std::pair{300LL, 100LL}, {9LL, 8300LL}}) {
    const auto planned = ops::rms_norm_adjoint_launch(ScalarType::Float16, true, rows, columns, {90, 1});
    const Extents64 matrix{rows, columns}, row{columns};
    expect_same_on_cuda<half, float>(kernel_of(planned), blocks_of(planned), {matrix, row, matrix, matrix, row}, 1e-5f,
                                     1e-2);
  }
}

TEST(ReadyOperations, GroupNormAndItsAdjointOnCuda) {
  const ops::GroupNormShape shape{2, 3, 4, 70};
  const Extents64 x{2, 12, 70}, channels{12};
  const auto forward = ops::group_norm_launch(ScalarType::Float16, shape, hopper);
  expect_same_on_cuda<half, float>(kernel_of(forward), blocks_of(forward), {x, channels, channels, x}, 1e-5f, 4e-3);
  const auto adjoint = ops::group_norm_adjoint_launch(ScalarType::Float16, shape, hopper, true);
  expect_same_on_cuda<half, float>(kernel_of(adjoint), blocks_of(adjoint), {x, channels, x, x, channels, channels},
                                   1e-5f, 1e-2);
}

TEST(ReadyOperations, RotaryOnCuda) {
  const auto planned = ops::rotary_launch(ScalarType::Float16, {2, 2, 40, 20}, true, true, hopper);
  const Extents64 pairs{2, 2, 40, 10}, table{40, 10};
  expect_same_on_cuda<half, float>(kernel_of(planned), blocks_of(planned), {pairs, pairs, table, table, pairs, pairs},
                                   {}, 4e-3);
}

// Rows in parts, each with one exponential for each element.
TEST(ReadyOperations, CrossEntropyOnCuda) {
  constexpr long long rows = 3, classes = 8300;
  const auto forward =
      ops::cross_entropy_launches(ScalarType::Float32, ScalarType::Int32, ops::Reduction::none, rows, classes, hopper);
  const auto adjoint = ops::cross_entropy_adjoint_launches(ScalarType::Float32, ScalarType::Int32, ops::Reduction::none,
                                                           rows, classes, hopper);
  Array64<float> logits({rows, classes}, 1), given({rows}, 2);
  std::vector<std::int32_t> targets{8299, -100, 5};
  std::vector<float> losses[2], sums[2], gradients[2];
  for (const bool cuda : {false, true}) {
    losses[cuda].resize(rows), sums[cuda].resize(rows), gradients[cuda].resize(rows * classes);
    run_planned(forward.rows, cuda,
                {array(logits.values, {rows, classes}), array(targets, {rows}), array(losses[cuda], {rows}),
                 array(sums[cuda], {rows}), scalar(0.1f), scalar(-100)});
    run_planned(adjoint.rows, cuda,
                {array(logits.values, {rows, classes}), array(targets, {rows}), array(sums[cuda], {rows}),
                 array(given.values, {rows}), array(gradients[cuda], {rows, classes}), scalar(0.1f), scalar(-100)});
  }
  EXPECT_GT(losses[0][0], 8);
  EXPECT_EQ(losses[0][1], 0);
  for (std::size_t i = 0; i < rows; ++i) ASSERT_NEAR(losses[0][i], losses[1][i], 1e-4);
  for (std::size_t i = 0; i < rows * classes; ++i) ASSERT_NEAR(gradients[0][i], gradients[1][i], 1e-6);
}

// Kernels of a tape add to the gradients; one of attention's also has that of the rows' logarithms.
TEST(ReadyOperations, AdjointsThatAddOnCuda) {
  const ops::AttentionShape shape{1, 2, 70, 16, 40};
  const Extents64 q{1, 2, 70, 16}, k{1, 2, 40, 16}, rows{1, 2, 70};
  const auto adjoint = ops::attention_adjoint_launches(ScalarType::Float16, shape, true, hopper, 0.25,
                                                       {.add = true, .of_row_sums = true});
  expect_same_on_cuda<half, float>(kernel_of(adjoint.row_products), blocks_of(adjoint.row_products), {q, q, rows, rows},
                                   {}, 1e-5);
  expect_same_on_cuda<half, float>(kernel_of(adjoint.of_queries), blocks_of(adjoint.of_queries),
                                   {q, k, k, rows, rows, q, q}, 0.25f, 4e-2);
  expect_same_on_cuda<half, float>(kernel_of(adjoint.of_keys), blocks_of(adjoint.of_keys),
                                   {q, k, k, rows, rows, q, k, k}, 0.25f, 4e-2);
  const auto softmax = ops::softmax_adjoint_launch(ScalarType::Float32, 3, 100, hopper, true);
  expect_same_on_cuda<float, double>(kernel_of(softmax), blocks_of(softmax), {{3, 100}, {3, 100}, {3, 100}}, {}, 1e-3);
}

TEST(ReadyOperations, AttentionAndItsAdjointOnCuda) {
  const ops::AttentionShape shape{1, 2, 70, 16, 40};
  const Extents64 q{1, 2, 70, 16}, k{1, 2, 40, 16}, rows{1, 2, 70};
  const auto forward = ops::attention_launch(ScalarType::Float16, shape, true, hopper);
  expect_same_on_cuda<half, float>(kernel_of(forward), blocks_of(forward), {q, k, k, q, rows}, 0.25f, 4e-3);
  const auto adjoint = ops::attention_adjoint_launches(ScalarType::Float16, shape, true, hopper);
  expect_same_on_cuda<half, float>(kernel_of(adjoint.row_products), blocks_of(adjoint.row_products), {q, q, rows}, {},
                                   1e-5);
  expect_same_on_cuda<half, float>(kernel_of(adjoint.of_queries), blocks_of(adjoint.of_queries),
                                   {q, k, k, rows, rows, q, q}, 0.25f, 4e-2);
  expect_same_on_cuda<half, float>(kernel_of(adjoint.of_keys), blocks_of(adjoint.of_keys),
                                   {q, k, k, rows, rows, q, k, k}, 0.25f, 4e-2);
}

// Bytes that each block of a kernel has, as a launch of large arrays plans it.
std::int64_t planned_bytes(const ir::Kernel &kernel, int capability) {
  codegen::EmitOptions options = cuda_options();
  for (codegen::ArrayFacts &facts : options.arrays) facts.unaliased = facts.aligned_rows = facts.has_tensor_map = true;
  const ir::Kernel lowered = jit::lower(kernel, {.cuda = capability, .arrays = options.arrays}).kernel;
  const ir::Kernel planned = jit::plan(lowered, {passes::gpu_architecture(capability), options.arrays});
  options.cuda.tile_threads = planned.block_threads + planned.roles.producers;
  options.cuda.grid_stride = true;
  options.cuda.stays = planned.roles.producers != 0;
  return codegen::emit_cuda(planned, options).tile_memory.bytes;
}

// For heads of each size and type, both directions, as called and on a tape, and the derived adjoint.
TEST(ReadyOperations, AttentionFitsIntoSharedMemory) {
  for (const int capability : {80, 86, 90})
    for (const ScalarType type : {ScalarType::Float16, ScalarType::Float32, ScalarType::Float64})
      for (const std::int64_t size : {16, 96, 128, 192, 240, 256}) {
        SCOPED_TRACE(fmt::format("{} of {} on {}", cpp_name(type), size, capability));
        const ops::AttentionShape shape{1, 1, 1000, size, 1000};
        const ops::PlanDevice device{capability, 100};
        const std::int64_t most = passes::gpu_architecture(capability).shared_bytes;
        const auto adjoint = ops::attention_adjoint_launches(type, shape, true, device);
        const auto taped = ops::attention_adjoint_launches(type, shape, true, device, 1, {.add = true});
        for (const ops::PlannedLaunch &planned : {ops::attention_launch(type, shape, true, device), adjoint.of_queries,
                                                  adjoint.of_keys, taped.of_queries, taped.of_keys})
          EXPECT_LE(planned_bytes(kernel_of(planned), capability), most) << planned.kernel->name();
        const auto derived = ops::attention_launch(type, shape, true, device, true);
        EXPECT_TRUE(jit::fitted(derived.kernel->adjoint(0b11111, false).kernel, capability));
      }
}

// With an empty group, one of exactly a tile, and ragged ones; the last but one ends where another begins.
TEST(ReadyOperations, ProductsOfGroupsOnCuda) {
  const long long rows = 100, inner = 24, columns = 40;
  for (const ops::PlanDevice &as : {ops::PlanDevice{80, 108}, ops::PlanDevice{90, 132}}) {
    const auto planned = ops::grouped_matmul_launch(
        {ScalarType::Float32, {ScalarType::Float32, ops::Activation::silu, true}}, {5, rows, columns, inner}, as);
    std::vector<std::int32_t> offsets{0, 3, 3, 35, 90, 97};
    std::vector<float> results[2];
    for (const bool cuda : {false, true}) {
      Array64<float> a({rows, inner}, 1), b({5, inner, columns}, 2), bias({5, columns}, 3), c({rows, columns}, 4);
      const std::vector<Argument> arguments{array(a.values, a.extents), array(b.values, b.extents), array(offsets, {6}),
                                            array(bias.values, bias.extents), array(c.values, c.extents)};
      run_planned(planned, cuda, arguments);
      results[cuda] = c.values;
    }
    for (std::size_t i = 0; i < results[0].size(); ++i) ASSERT_NEAR(results[1][i], results[0][i], 1e-5) << i;
    EXPECT_EQ(results[1].back(), (Array64<float>({rows, columns}, 4).values.back())) << "of no group";
  }
}

template <class T>
void expect_groups_of_terms_on_cuda() {
  const long long rows = 40, terms = 100, columns = 24;
  for (const ops::PlanDevice &as : {ops::PlanDevice{80, 108}, ops::PlanDevice{90, 132}})
    for (const bool transposed : {false, true}) {
      const auto planned = ops::grouped_terms_launch({scalar_type_of<T>, ScalarType::Float32, {transposed, false}},
                                                     {4, rows, columns, terms}, as);
      std::vector<std::int32_t> offsets{2, 5, 5, 37, 97};
      std::vector<float> results[2];
      for (const bool cuda : {false, true}) {
        Array64<T> a(transposed ? Extents64{terms, rows} : Extents64{rows, terms}, 1), b({terms, columns}, 2);
        Array64<float> c({4, rows, columns}, 3);
        const std::vector<Argument> arguments{array(a.values, a.extents), array(b.values, b.extents),
                                              array(offsets, {5}), array(c.values, c.extents)};
        run_planned(planned, cuda, arguments);
        results[cuda] = c.values;
      }
      for (std::size_t i = 0; i < results[0].size(); ++i) ASSERT_NEAR(results[1][i], results[0][i], 1e-5) << i;
    }
}
TEST(ReadyOperations, ProductsOfGroupsOfTermsOnCuda) {
  expect_groups_of_terms_on_cuda<float>();
  expect_groups_of_terms_on_cuda<bfloat16>();
}

// Factors of two types, which the CPU multiplies as halves and tensor cores multiply directly.
template <class A, class B>
void expect_same_of_two_types(bool by_terms) {
  using enum ops::ScaleGroup;
  const long long rows = 20, inner = 150, columns = 24;
  const ops::ScaledMatmulByType kind{scalar_type_of<A>,
                                     scalar_type_of<B>,
                                     {one, by_terms ? block : all},
                                     {by_terms ? block : all, one},
                                     {ScalarType::Float32}};
  std::vector<float> results[2];
  for (const bool cuda : {false, true}) {
    const auto planned =
        ops::scaled_matmul_launch(kind, {1, rows, columns, inner}, cuda ? ops::PlanDevice{89, 100} : ops::PlanDevice{});
    Array64<A> a({rows, inner}, 1);
    Array64<B> b({inner, columns}, 2);
    Array64<float> scale_a({rows, by_terms ? 2 : 1}, 3), scale_b({by_terms ? 2 : 1, columns}, 4), c({rows, columns}, 5);
    const std::vector<Argument> arguments{array(a.values, a.extents), array(b.values, b.extents),
                                          array(scale_a.values, scale_a.extents),
                                          array(scale_b.values, scale_b.extents), array(c.values, c.extents)};
    run_planned(planned, cuda, arguments);
    results[cuda] = c.values;
  }
  for (std::size_t i = 0; i < results[0].size(); ++i) ASSERT_NEAR(results[1][i], results[0][i], 1e-4) << i;
}

TEST(ReadyOperations, ProductsOfTwoTypesOf8BitsOnCuda) {
  for (const bool by_terms : {false, true}) {
    expect_same_of_two_types<f8e4m3, f8e5m2>(by_terms);
    expect_same_of_two_types<f8e5m2, f8e4m3>(by_terms);
  }
}

class ReadyOperationsCompiled : public CudaCompilerTest {};

TEST_F(ReadyOperationsCompiled, Rows) {
  for (const std::int64_t columns : {100, 4096, 20000}) {
    expect_compiles_for_hopper(kernel_of(ops::softmax_launch(ScalarType::BFloat16, 128, columns, hopper)));
    expect_compiles_for_hopper(kernel_of(ops::softmax_adjoint_launch(ScalarType::BFloat16, 128, columns, hopper)));
    expect_compiles_for_hopper(kernel_of(
        ops::cross_entropy_launches(ScalarType::BFloat16, ScalarType::Int64, ops::Reduction::mean, 128, columns, hopper)
            .rows));
    expect_compiles_for_hopper(kernel_of(ops::layer_norm_launch(ScalarType::BFloat16, true, 128, columns, hopper)));
    for (const std::int64_t rows : {128, 1 << 20})
      expect_compiles_for_hopper(
          kernel_of(ops::layer_norm_adjoint_launch(ScalarType::BFloat16, rows, columns, hopper)));
  }
}

// For heads that share one head of k, with every mask and without.
TEST_F(ReadyOperationsCompiled, MaskedAttention) {
  constexpr std::int64_t size = 128;
  const ops::AttentionShape shape{1, 8, 1000, size, 1000, 4};
  const ops::AttentionMasks masks{true, true, true, true, true};
  const auto masked = ops::masked_attention_adjoint_launches(ScalarType::BFloat16, shape, masks, hopper);
  const auto plain = ops::attention_adjoint_launches(ScalarType::BFloat16, shape, true, hopper);
  for (const ops::PlannedLaunch &planned :
       {ops::masked_attention_launch(ScalarType::BFloat16, shape, masks, hopper), masked.of_queries, masked.of_keys,
        ops::attention_launch(ScalarType::BFloat16, shape, true, hopper), plain.of_queries, plain.of_keys})
    expect_compiles_for_hopper(kernel_of(planned));
}

ops::ScaledMatmulByType scaled_by_blocks() {
  return {ScalarType::Float8E4M3,
          ScalarType::Float8E4M3,
          {ops::ScaleGroup::one, ops::ScaleGroup::block},
          {ops::ScaleGroup::block, ops::ScaleGroup::block},
          {ScalarType::BFloat16, ops::Activation::none, true},
          {.b = true}};
}

TEST_F(ReadyOperationsCompiled, Layers) {
  expect_compiles_for_hopper(
      kernel_of(ops::matmul_launch({ScalarType::Float32, {ScalarType::Float32, ops::Activation::gelu, true, true}},
                                   {1, 1024, 1024, 1024}, {80, 108})));
  expect_compiles_for_hopper(
      kernel_of(ops::matmul_launch({ScalarType::Float32, {ScalarType::Float32, ops::Activation::gelu, true, true}},
                                   {1, 4096, 4096, 4096}, {90, 132})));
  expect_compiles_for_hopper(
      kernel_of(ops::scaled_matmul_launch(scaled_by_blocks(), {1, 1024, 1024, 1024}, {80, 108})));
}

// Groups of warps multiply, while others copy; nothing of it is serialised, nor in memory that is slower than
// registers.
void expect_multiplied_by_groups(const ir::Kernel &kernel) {
  SCOPED_TRACE(kernel.name);
  codegen::EmitOptions options = cuda_options();
  for (codegen::ArrayFacts &facts : options.arrays) facts.unaliased = facts.aligned_rows = facts.has_tensor_map = true;
  const ir::Kernel lowered = jit::lower(kernel, {.cuda = 90, .arrays = options.arrays}).kernel;
  const ir::Kernel planned = jit::plan(lowered, {passes::gpu_architecture(90), options.arrays});
  ASSERT_EQ(planned.roles.producers, 128);
  options.cuda.tile_threads = planned.block_threads + planned.roles.producers;
  options.cuda.grid_stride = options.cuda.stays = true;
  const codegen::EmittedSource source = codegen::emit_cuda(planned, options);
  const auto image =
      compile_cuda({.name = kernel.name, .text = source.text}, codegen::cuda_prelude(source.text), "sm_90a").image;
  if (std::getenv("SAMITE_TEST_SHOW")) fmt::print("{}\n{}\n", source.text, image->report().to_string());
  EXPECT_THAT(image->log(), testing::Not(testing::HasSubstr("C75")));
  const CudaKernelResources needs = image->report().kernels.at(0);
  EXPECT_EQ(needs.spill_store_bytes + needs.spill_load_bytes + needs.local_bytes, 0u);
}

// By every method for its products, if bulk copies can read each array.
void expect_products_compile(const ir::Kernel &kernel) {
  codegen::EmitOptions options = cuda_options();
  for (codegen::ArrayFacts &facts : options.arrays) facts.unaliased = facts.aligned_rows = facts.has_tensor_map = true;
  const ir::Kernel lowered = jit::lower(kernel, {.adjoint = true, .cuda = 90, .arrays = options.arrays}).kernel;
  const ir::Kernel planned = jit::plan(lowered, {passes::gpu_architecture(90), options.arrays});
  options.cuda.tile_threads = planned.block_threads + planned.roles.producers;
  options.cuda.grid_stride = true;
  options.cuda.stays = planned.roles.producers != 0;
  const codegen::EmittedSource source = codegen::emit_cuda(planned, options);
  EXPECT_TRUE(
      compile_cuda({.name = kernel.name, .text = source.text}, codegen::cuda_prelude(source.text), "sm_90a").image);
}

// The products of each block of k and v, and the code between them.
TEST_F(ReadyOperationsCompiled, AttentionOfHeadsOf64And128) {
  for (const std::int64_t size : {64, 128})
    for (const bool causal : {false, true}) {
      const ops::AttentionShape shape{1, 2, 1024, size, 1024};
      expect_multiplied_by_groups(kernel_of(ops::attention_launch(ScalarType::BFloat16, shape, causal, hopper)));
      for (const bool adds : {false, true}) {
        const auto adjoint =
            ops::attention_adjoint_launches(ScalarType::BFloat16, shape, causal, hopper, 1, {.add = adds});
        expect_multiplied_by_groups(kernel_of(adjoint.of_queries));
        expect_multiplied_by_groups(kernel_of(adjoint.of_keys));
      }
    }
}

// Both gradients of a plain product have its tiles, in kernels of their own.
template <class T>
void expect_gradients_by_groups() {
  const TileKernel product{"product",
                           {"a", "b", "c"},
                           [](Array<const T, 2> a, Array<const T, 2> b, Array<float, 2> c) {
                             auto [i, j] = block_index<2>();
                             auto sum = tile::zeros<float>({128, 256});
                             for (Int k : range(tile::ceil_div(a.extent(1), 64), pipelined(4)))
                               tile::matmul(tile::load(a, {i, k}, {128, 64}), tile::load(b, {k, j}, {64, 256}), sum);
                             tile::store(c, {i, j}, sum);
                           },
                           {.threads = 256}};
  const auto *gathered = product.definition()->gathered_adjoint(7, passes::Gathering::wide);
  ASSERT_TRUE(gathered);
  const auto run = jit::gathered_to_run(*gathered, 90);
  ASSERT_TRUE(run && run->copies);
  ASSERT_EQ(run->further.size(), 1u);
  expect_multiplied_by_groups(run->kernel);
  expect_multiplied_by_groups(run->further[0]);
}
TEST_F(ReadyOperationsCompiled, GradientsByGroupsOfWarps) {
  expect_gradients_by_groups<bfloat16>();
  expect_gradients_by_groups<half>();
}

// With few rows or columns, in the tilings that ops::Matmul chooses with and without gradients: rows of the result are
// terms of b's gradient.
TEST_F(ReadyOperationsCompiled, GradientsOfFewRowsAndColumns) {
  for (const auto &[rows, columns] : {std::pair{1, 600}, {600, 1}, {1, 1}, {20, 64}})
    for (const bool differentiated : {true, false}) {
      SCOPED_TRACE(fmt::format("{} by {}, {}", rows, columns, differentiated));
      const ops::MatmulPlan plan = ops::matmul_plan(
          {1, rows, columns, 600}, {.type = ScalarType::BFloat16, .differentiated = differentiated}, hopper);
      const TileKernel product{"op",
                               [&](Array<const bfloat16, 2> a, Array<const bfloat16, 2> b, Array<bfloat16, 2> c) {
                                 const auto block = block_index<2>();
                                 const auto sum = ops::detail::block_sums<2>(a, b, block, {}, plan, {});
                                 tile::store(c, {block[0], block[1]}, tile::cast<bfloat16>(sum));
                               },
                               TileOptions{.threads = plan.threads}};
      const auto *gathered = product.definition()->gathered_adjoint(7, passes::Gathering::even_if_slower);
      ASSERT_TRUE(gathered);
      const auto run = jit::gathered_to_run(*gathered, 90);
      ASSERT_TRUE(run);
      expect_products_compile(run->kernel);
      for (const ir::Kernel &further : run->further) expect_products_compile(further);
    }
}

TEST_F(ReadyOperationsCompiled, ProductsOf8BitsByGroupsOfWarps) {
  using enum ops::ScaleGroup;
  const ops::MatmulShape shape{1, 4096, 4096, 4096};
  const auto product = [&](const ops::ScaleGroups &of_a, const ops::ScaleGroups &of_b) {
    return ops::scaled_matmul_launch(
        {ScalarType::Float8E4M3, ScalarType::Float8E4M3, of_a, of_b, {ScalarType::BFloat16}, {.b = true}}, shape,
        {90, 132});
  };
  expect_multiplied_by_groups(kernel_of(product({all, all}, {all, all})));
  expect_multiplied_by_groups(kernel_of(product({one, all}, {all, one})));
  expect_multiplied_by_groups(kernel_of(product({one, block}, {block, block})));
  expect_multiplied_by_groups(
      kernel_of(ops::scaled_matmul_launch(scaled_by_blocks(), {1, 1024, 1024, 1024}, {90, 132})));
  expect_multiplied_by_groups(kernel_of(ops::scaled_matmul_launch({ScalarType::Float8E4M3,
                                                                   ScalarType::Float8E4M3,
                                                                   {one, block},
                                                                   {block, block},
                                                                   {ScalarType::BFloat16},
                                                                   {.b = true}},
                                                                  {1, 8192, 8192, 8192}, {90, 132})));
  for (const auto &[a, b] : {std::pair{ScalarType::Float8E4M3, ScalarType::Float8E5M2},
                             std::pair{ScalarType::Float8E5M2, ScalarType::Float8E4M3}})
    expect_multiplied_by_groups(kernel_of(ops::scaled_matmul_launch(
        {a, b, {one, all}, {all, one}, {ScalarType::BFloat16}, {.b = true}}, shape, {90, 132})));
  expect_multiplied_by_groups(kernel_of(ops::matmul_launch(
      {ScalarType::Float32, {ScalarType::Float32}, {.b = true}, tile::Precision::tf32}, shape, {90, 132})));
}

// The scales that an iteration reads are loaded with the factors; a tile of these has two parts of columns.
TEST_F(ReadyOperationsCompiled, ProductsWithScalesOfTermsBesideTheFactors) {
  using enum ops::ScaleGroup;
  for (const auto &[of_rows, transposed] : {std::pair{one, false}, {block, false}, {one, true}})
    for (const std::int64_t size : {512, 4096}) {
      SCOPED_TRACE(size);
      ops::ScaledMatmulByType kind = scaled_by_blocks();
      kind.scales_of_a.rows = of_rows, kind.scales = {true, transposed, transposed};
      expect_multiplied_by_groups(kernel_of(ops::scaled_matmul_launch(kind, {1, size, size, size}, {90, 132})));
    }
}

TEST_F(ReadyOperationsCompiled, ProductsOfTwoTypesOf8BitsForEveryGpu) {
  for (const auto &[a, b] : {std::pair{ScalarType::Float8E4M3, ScalarType::Float8E5M2},
                             std::pair{ScalarType::Float8E5M2, ScalarType::Float8E4M3}})
    expect_compiles(
        kernel_of(ops::scaled_matmul_launch({a, b, {}, {}, {ScalarType::Float32}}, {1, 64, 64, 64}, {89, 1})));
}

TEST_F(ReadyOperationsCompiled, ProductsOfGroupsByGroupsOfWarps) {
  using enum ops::ScaleGroup;
  const ops::GroupedShape shape{32, 8192, 4096, 2048};
  expect_multiplied_by_groups(kernel_of(ops::grouped_matmul_launch(
      {ScalarType::BFloat16, {ScalarType::BFloat16, ops::Activation::silu, true}}, shape, {90, 132})));
  const auto scaled = [&](const ops::ScaleGroups &of_a, const ops::ScaleGroups &of_b) {
    return ops::scaled_grouped_matmul_launch(
        {ScalarType::Float8E4M3, ScalarType::Float8E4M3, of_a, of_b, {ScalarType::BFloat16}, true}, shape, {90, 132});
  };
  expect_multiplied_by_groups(kernel_of(scaled({one, all}, {all, one})));
  expect_multiplied_by_groups(kernel_of(scaled({one, block}, {block, block})));
}

// In 16 bits the whole sum is one loop, whose last step has fewer terms.
TEST_F(ReadyOperationsCompiled, ProductsOfGroupsOfTerms) {
  const auto of = [](ScalarType type) {
    return kernel_of(
        ops::grouped_terms_launch({type, ScalarType::Float32, {.a = true}}, {32, 2048, 4096, 8192}, {90, 132}));
  };
  expect_multiplied_by_groups(of(ScalarType::BFloat16));
  expect_compiles_for_hopper(of(ScalarType::Float32));
}

}  // namespace
}  // namespace samite::test
