// The products of a gathered adjoint apart: each of its outermost loops that multiplies tiles as a kernel of its own.
//
// The gradients of both factors of a product are two loops of one kernel. Apart, each has the shared memory and the
// registers of its blocks for itself, and warps of its own for its copies (passes/assign_roles.h), for the cost of one
// more launch. A loop can go where nothing else touches the arrays that it writes, nor writes those that it reads.
//
// A pure function of a structured kernel. The kernels have its parameters and run over its launch one after another,
// in any order; all else is in the first. One where there is nothing to split.
#pragma once

#include "samite/ir/kernel.h"

#include <vector>

namespace samite::passes {

std::vector<ir::Kernel> split_loops(const ir::Kernel &structured);

}  // namespace samite::passes
