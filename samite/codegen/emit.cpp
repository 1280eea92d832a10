#include "samite/codegen/emit.h"

#include "samite/codegen/cpu_target.h"
#include "samite/codegen/cuda_target.h"
#include "samite/codegen/kernel_emitter.h"

namespace samite::codegen {
namespace {

// A name that C++ and linkers take.
std::string entry_name(std::string_view kernel) {
  std::string entry = "samite_";
  for (char c : kernel) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    entry += plain ? c : '_';
  }
  return entry;
}

// Where a block's threads hold tiles that they have loaded, they wait for memory most of the time: the more blocks
// there are, the better, down to what a thread needs beside its tiles.
int blocks_at_once(const passes::BlockPlan &plan) {
  constexpr std::int64_t registers = 65536, threads = 2048, beside = 32;
  const std::int64_t spread = plan.placement.spread_registers, own = plan.kernel.block_threads;
  if (spread == 0) return 0;
  return static_cast<int>(std::clamp<std::int64_t>(registers / (own * (spread + beside)), 1, threads / own));
}

}  // namespace

EmittedSource emit_cpu(const ir::Kernel &lowered, const EmitOptions &options) {
  const int lanes = cpu_lanes(lowered, options.vector_bytes);
  const CpuTarget target(lanes);
  EmittedSource source =
      KernelEmitter(lowered, passes::uniformity(lowered), target, options, {}, {}).emit(entry_name(lowered.name));
  source.lanes = is_tile_kernel(lowered) ? 1 : lanes;
  return source;
}

EmittedSource emit_cuda(const passes::BlockPlan &plan, const EmitOptions &options) {
  const ir::Kernel &kernel = plan.kernel;
  check_parameter_space(kernel);
  EmitOptions own = options;
  if (is_tile_kernel(kernel)) {
    own.cuda.threads_per_block = own.cuda.tile_threads = kernel.block_threads;
    own.cuda.instances_per_thread = 1;
  }
  const CudaTarget target(own.cuda, blocks_at_once(plan));
  return KernelEmitter(kernel, passes::Uniformity::all_uniform(kernel), target, own, plan.placement, plan.memory)
      .emit(entry_name(kernel.name));
}

EmittedSource emit_cuda(const ir::Kernel &lowered, const EmitOptions &options) {
  return emit_cuda(plan_block(lowered, options), options);
}

passes::BlockPlan plan_block(const ir::Kernel &lowered, const EmitOptions &options) {
  return passes::plan_block(lowered, [&](std::uint32_t read, std::uint32_t written) {
    return read == written || read >= options.arrays.size() || !options.arrays[read].unaliased;
  });
}

}  // namespace samite::codegen
