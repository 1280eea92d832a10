// The loops over a launch where a thread runs each instance, and the sums that all instances add to.
#include "samite/codegen/kernel_emitter.h"
#include "samite/codegen/spelling.h"
#include "samite/ir/visit.h"

namespace samite::codegen {

using namespace ir;

void KernelEmitter::launch_loop(const For &loop) {
  ThreadLoop text;
  text.index = name(loop.index);
  text.type = scalar_name(loop.type);
  text.begin = scalar(loop.begin);
  text.end = scalar(loop.end);
  text.number = thread_loops_++;
  text.dimension = failures_.depth();
  text.launch_rank = kernel_.launch_rank;
  text.step = loop.step.as_int();
  text.march = loop.march;
  const bool outermost = text.dimension == 0, innermost = loop.kind == LoopKind::Thread;
  if (outermost) sums_.declare_of_launch(loop);
  target_.thread_loop(out_, text, [&] {
    // An instance that ends early must not end the others that the thread runs.
    const bool may_end = innermost && emission_.uses_workspace;
    if (may_end) out_.open("const auto instance = [&]() __attribute__((always_inline)) {{");
    launch_body(loop);
    if (!may_end) return;
    out_.close("};");
    out_.line("instance();");
  });
  if (outermost) sums_.add_of_blocks();
}

// The body of a loop, which may be one over the launch.
void KernelEmitter::launch_body(const For &loop) {
  const bool of_launch = loop.kind != LoopKind::Serial && !failures_.in_instance();
  if (of_launch) failures_.enter(Value::local(loop.type, loop.index));
  block(loop.body);
  if (of_launch) failures_.leave();
}

}  // namespace samite::codegen
