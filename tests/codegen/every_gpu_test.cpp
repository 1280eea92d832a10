// Kernels of each kind compile for every GPU in Samite's table, with a plan for that GPU: per-thread kernels, rows,
// products and attention, with their adjoints. Nothing is run.
#include "samite/jit/definition.h"
#include "samite/jit/pipeline.h"
#include "samite/jit/target.h"
#include "samite/ops/attention.h"
#include "samite/ops/layer_norm.h"
#include "samite/ops/matmul_by_type.h"
#include "samite/ops/softmax.h"
#include "tests/codegen/cuda_tile_kernel.h"

#include <algorithm>

namespace samite::test {
namespace {

class EveryGpu : public CudaCompilerTest {
 protected:
  // The GPUs that this NVRTC knows.
  static std::vector<jit::Target> targets() {
    std::vector<jit::Target> known;
    for (const jit::Target &target : jit::known_gpus())
      if (std::ranges::count(nvrtc().architectures, target.compute_capability()) > 0) known.push_back(target);
    return known;
  }

  static void expect_compiles_for(const jit::Target &target, const ir::Kernel &kernel) {
    SCOPED_TRACE(kernel.name + " for " + target.name());
    codegen::EmitOptions options = cuda_options();
    for (codegen::ArrayFacts &facts : options.arrays)
      facts.unaliased = facts.aligned_rows = facts.has_tensor_map = true;
    const int capability = target.compute_capability();
    const ir::Kernel lowered = jit::lower(kernel, {.cuda = capability, .arrays = options.arrays}).kernel;
    const ir::Kernel planned = jit::plan(lowered, {target.architecture(), options.arrays});
    options.cuda.tile_threads = planned.block_threads + planned.roles.producers;
    options.cuda.grid_stride = true;
    options.cuda.stays = planned.roles.producers != 0;
    const codegen::EmittedSource source = codegen::emit_cuda(planned, options);
    EXPECT_LE(source.tile_memory.bytes, target.architecture().shared_bytes);
    EXPECT_TRUE(target.compile({.name = kernel.name, .text = source.text}).image);
  }
  static void expect_compiles_for(const jit::Target &target, const ops::PlannedLaunch &planned) {
    expect_compiles_for(target, planned.kernel->forward());
  }
};

TEST_F(EveryGpu, CompilesAKernelForThreadsAndItsAdjoint) {
  const Kernel kernel{"decay", {"out", "in"}, [](Array<float, 1> out, Array<const float, 1> in) {
                        Int i = thread_index();
                        out(i) = exp(-in(i)) * in(i);
                      }};
  for (const jit::Target &target : targets()) {
    expect_compiles_for(target, kernel.ir());
    expect_compiles_for(target, kernel.definition()->adjoint(0b11, false).kernel);
  }
}

TEST_F(EveryGpu, CompilesRows) {
  for (const jit::Target &target : targets()) {
    const ops::PlanDevice device{target.compute_capability(), 100};
    expect_compiles_for(target, ops::softmax_launch(ScalarType::BFloat16, 1000, 1024, device));
    expect_compiles_for(target, ops::softmax_adjoint_launch(ScalarType::BFloat16, 1000, 1024, device, true));
    expect_compiles_for(target, ops::layer_norm_launch(ScalarType::BFloat16, true, 1000, 1024, device));
    expect_compiles_for(target, ops::layer_norm_adjoint_launch(ScalarType::BFloat16, 1000, 1024, device, true));
  }
}

TEST_F(EveryGpu, CompilesProducts) {
  for (const jit::Target &target : targets())
    for (const ScalarType type : {ScalarType::BFloat16, ScalarType::Float32, ScalarType::Float64}) {
      const ops::PlanDevice device{target.compute_capability(), 100};
      expect_compiles_for(
          target, ops::matmul_launch({.factor = type, .epilogue = {.result = type}}, {1, 1024, 1024, 1024}, device));
    }
}

TEST_F(EveryGpu, CompilesAttentionAndItsAdjoint) {
  const ops::AttentionShape shape{1, 2, 1024, 64, 1024};
  for (const jit::Target &target : targets()) {
    const ops::PlanDevice device{target.compute_capability(), 100};
    expect_compiles_for(target, ops::attention_launch(ScalarType::BFloat16, shape, true, device));
    const auto adjoint = ops::attention_adjoint_launches(ScalarType::BFloat16, shape, true, device, 1,
                                                         {.add = true, .of_row_sums = true});
    expect_compiles_for(target, adjoint.row_products);
    expect_compiles_for(target, adjoint.of_queries);
    expect_compiles_for(target, adjoint.of_keys);
  }
}

}  // namespace
}  // namespace samite::test
