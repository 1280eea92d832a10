// Loops of CUDA's threads: those over the launch, and those that each thread or a warp runs.
#include "samite/codegen/spelling.h"
#include "samite/codegen/threads_emitter.h"
#include "samite/passes/analysis/op_cost.h"

namespace samite::codegen {

using namespace ir;

void ThreadsEmitter::loop(const For &loop) {
  if (loop.kind == LoopKind::Serial) {
    if (warp_loops_.loop(loop)) return;
    if (loop.products.in_turns) out_.line("turns.take();");
    common_loop(loop);
    if (loop.products.in_turns) out_.line("turns.give();");
    return;
  }
  if (failures_.in_instance()) return element_loops_.loop(loop);
  if (of_blocks()) return launch_blocks(loop);
  launch_loop(loop);
}

void ThreadsEmitter::keep_small(const For &loop) {
  if (!passes::may_be_unrolled(loop)) out_.line("#pragma unroll 1");
}

void ThreadsEmitter::launch_loop(const For &loop) {
  const LaunchLoop text{.index = name(loop.index),
                        .type = std::string(scalar_name(loop.type)),
                        .begin = scalar(loop.begin),
                        .end = scalar(loop.end),
                        .number = thread_loops_++,
                        .dimension = failures_.depth(),
                        .launch_rank = kernel_.launch_rank,
                        .step = loop.step.as_int(),
                        .march = loop.threads.march};
  const bool outermost = text.dimension == 0, innermost = loop.kind == LoopKind::Thread;
  if (outermost) sums_.open(loop);
  launch_loop_text(out_, text, options_.cuda.grid_stride, [&] {
    // An instance that ends early must not end the thread's other instances.
    const bool may_end = innermost && emission_.uses_workspace;
    if (may_end) out_.open("const auto instance = [&]() __attribute__((always_inline)) {{");
    failures_.enter(Value::local(loop.type, loop.index), 0);
    block(loop.body);
    failures_.leave();
    if (!may_end) return;
    out_.close("};");
    out_.line("instance();");
  });
  if (outermost) sums_.close();
}

}  // namespace samite::codegen
