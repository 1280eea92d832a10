// CUDA kernels without a GPU: the text of `emit_cuda`, compiled for the host and run there, thread by thread.
//
// The prelude's intrinsics are replaced by the host's (tests/codegen/cuda_on_host.cpp); all else is the text that CUDA
// gets. Blocks run one after another, and so do the threads of a block, each from barrier to barrier
// (tests/codegen/block_of_fibers.h).
#pragma once

#include "samite/codegen/cuda_channel.h"
#include "samite/codegen/cuda_launch.h"
#include "samite/codegen/cuda_launch_shape.h"
#include "samite/ir/print.h"
#include "samite/jit/pipeline.h"
#include "tests/codegen/block_of_fibers.h"
#include "tests/codegen/compiled_kernel.h"

namespace samite::test {

inline codegen::EmitOptions cuda_options(bool unit_stride = true, bool wide_index = false, bool debug = false) {
  codegen::EmitOptions options = test::options(unit_stride, wide_index, debug);
  options.cuda.threads_per_block = 64;
  return options;
}

// For a kernel whose tiles are in memory.
inline ir::Kernel plan_for_cuda(ir::Kernel kernel, const codegen::EmitOptions &options, bool two_blocks = true) {
  return jit::plan(passes::lower_threads(std::move(kernel)),
                   {passes::gpu_architecture(90),
                    options.arrays,
                    {.debug = options.debug,
                     .instances_per_thread = options.cuda.instances_per_thread,
                     .outgrows_caches = options.cuda.march > 1,
                     .two_blocks = two_blocks}});
}

inline codegen::EmittedSource emit_for_cuda(ir::Kernel structured, const codegen::EmitOptions &options,
                                            bool in_order = false, ir::Form form = ir::Form::structured,
                                            bool two_blocks = true) {
  ir::verify(structured, form, "test");
  structured = passes::lower_tiles(std::move(structured), passes::gpu_architecture(90), {.in_order = in_order});
  ir::verify(structured, ir::Form::lowered, "lower_tiles");
  return codegen::emit_cuda(plan_for_cuda(std::move(structured), options, two_blocks), options);
}
// The planned kernel as text.
inline std::string plan_text(ir::Kernel structured, const codegen::EmitOptions &options = cuda_options()) {
  structured = passes::lower_tiles(std::move(structured), passes::gpu_architecture(90));
  return ir::to_string(plan_for_cuda(std::move(structured), options));
}
inline codegen::EmittedSource emit_for_cuda(std::string_view text,
                                            const codegen::EmitOptions &options = cuda_options()) {
  return emit_for_cuda(ir::parse_kernel(text), options);
}

// The results of a launch apart from its arrays.
struct CudaResult {
  codegen::CudaFailure failure;
  struct Said {
    std::uint32_t site;
    std::vector<std::uint64_t> instance, values;
  };
  std::vector<Said> said;
  std::uint32_t lost_prints, lost_checks;
};

class CudaOnHost {
 public:
  // `in_order`: as for `lower_tiles`. `optimization`: the host compiler's; most kernels take longer to optimise than to
  // run. `form`: lowered, if the kernel's tiles are already placed in memory. `edit` changes the kernel's text.
  explicit CudaOnHost(ir::Kernel kernel, const codegen::EmitOptions &options = cuda_options(), bool in_order = false,
                      int optimization = 0, ir::Form form = ir::Form::structured,
                      const std::function<std::string(std::string)> &edit = {});
  explicit CudaOnHost(std::string_view text, const codegen::EmitOptions &options = cuda_options())
      : CudaOnHost(ir::parse_kernel(text), options) {}

  const codegen::EmittedSource &source() const { return source_; }

  // The grid-stride form has at most this many blocks, and each thread this many bytes of workspace.
  std::int64_t most_blocks = 3, workspace_per_thread = 4096;
  std::size_t channel_bytes = 4096;
  // Whether all threads of each warp are active wherever the kernel asks: true for launches of whole warps without
  // branches. Otherwise the kernel is told that they are not.
  bool whole_warps = false;
  ThreadOrder order;

  CudaResult run_box(const std::vector<long long> &begin, const std::vector<long long> &end,
                     const std::vector<Argument> &arguments) const;
  CudaResult run(const std::vector<long long> &extents, const std::vector<Argument> &arguments) const {
    return run_box(std::vector<long long>(extents.size(), 0), extents, arguments);
  }

 private:
  codegen::CudaForm form_;
  int rank_;
  codegen::EmittedSource source_;
  std::shared_ptr<const HostImage> image_;
};

// A kernel that is given as text, after the whole prelude: `entry` is a function of namespace samite that takes the
// address of the arguments.
class CudaTextOnHost {
 public:
  CudaTextOnHost(std::string text, const std::string &entry);
  // `cluster`: this many blocks, up to 8, run concurrently. The threads of a block form this many rows.
  void run(unsigned blocks, unsigned threads, const void *arguments, ThreadOrder order = {}, unsigned cluster = 1,
           unsigned rows = 1) const;

 private:
  std::shared_ptr<const HostImage> image_;
};

}  // namespace samite::test
