// Splits a gathered adjoint into kernels: each of its outermost loops that multiplies tiles becomes a kernel of its
// own.
//
// The gradients of a product's two factors are two loops of one kernel. In separate kernels each loop has all of its
// blocks' shared memory and registers, and its own producer warps (passes/sm90/assign_roles.h), at the cost of one more
// launch. A loop can be split off if nothing else touches the arrays that it writes, or writes those that it reads.
//
// A pure function of a structured kernel. The kernels have its parameters and run over its launch one after another, in
// any order; the first one keeps everything else. One kernel if there is nothing to split.
#pragma once

#include "samite/ir/kernel.h"

#include <vector>

namespace samite::passes {

std::vector<ir::Kernel> split_loops(const ir::Kernel &structured);

}  // namespace samite::passes
