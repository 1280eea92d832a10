#include "samite/codegen/emit.h"

#include "samite/base/error.h"
#include "samite/codegen/cpu_target.h"
#include "samite/codegen/cuda_target.h"
#include "samite/codegen/kernel_emitter.h"
#include "samite/ir/visit.h"
#include "samite/passes/march.h"

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

// The step of the loop over the launch's last dimension.
std::int64_t instances_of_thread(const ir::Kernel &planned) {
  std::int64_t instances = 1;
  ir::for_each_statement(planned.body, [&](const ir::Stmt &stmt) {
    const auto *loop = stmt.as<ir::For>();
    if (loop && loop->kind == ir::LoopKind::Thread) instances = loop->step.as_int();
  });
  return instances;
}

}  // namespace

EmittedSource emit_cpu(const ir::Kernel &lowered, const EmitOptions &options) {
  const int lanes = cpu_lanes(lowered, options.vector_bytes);
  const CpuTarget target(lanes);
  EmittedSource source =
      KernelEmitter(lowered, passes::uniformity(lowered), target, options).emit(entry_name(lowered.name));
  source.lanes = is_tile_kernel(lowered) ? 1 : lanes;
  return source;
}

EmittedSource emit_cuda(const ir::Kernel &planned, const EmitOptions &options) {
  check_parameter_space(planned);
  EmitOptions own = options;
  if (is_tile_kernel(planned)) {
    own.cuda.threads_per_block = own.cuda.tile_threads = planned.block_threads + planned.producers;
    own.cuda.instances_per_thread = 1;
  }
  internal_check(instances_of_thread(planned) == own.cuda.instances_per_thread,
                 "a form for another number of instances than the kernel was planned for");
  internal_check(passes::marched(planned) == own.cuda.march, "a form that marches otherwise than the kernel");
  const CudaTarget target(own.cuda, planned.resident_blocks);
  return KernelEmitter(planned, passes::Uniformity::all_uniform(planned), target, own).emit(entry_name(planned.name));
}

}  // namespace samite::codegen
