// Lowers a structured kernel: the launch becomes loops.
//
// A structured kernel is what one instance does. This pass wraps it in one loop for each dimension of the launch, from
// `launch_begin` to `launch_end` by one: dimension 0 outermost, the last one innermost. The outer loops are
// `LoopKind::Block` (independent, any order). The innermost is `LoopKind::Thread` (lanes of a vector, threads of a
// block), or a Block loop for a tile kernel. The loop indices replace `thread_index`. The result can run any box of the
// launch.
//
// A dimension whose every `thread_index` is an i32 is counted in i32, any other in i64. The launcher must refuse an
// extent that the kernel's index type cannot count.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel lower_threads(ir::Kernel structured);

// Whether some `thread_index` of this dimension is an i32, so that the launch may not reach beyond 2^31 there.
bool counts_in_i32(const ir::Kernel &structured, int dimension);

}  // namespace samite::passes
