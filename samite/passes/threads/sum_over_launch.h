// Marks additions that all instances of a launch make to one element: a loss, or the gradient of a scalar. If each
// instance has a thread, the threads of a block are summed first, and each block adds once.
//
// Only for arrays that the kernel adds to atomically and touches in no other way, so that the moment of an addition
// cannot be observed. The pass sets `over_launch` on each such `Accumulate`. With that, few threads with many instances
// each (a grid-stride launch) are many times faster than one thread for each instance. A pure function of a lowered GPU
// kernel.
#pragma once

#include "samite/ir/kernel.h"

#include <vector>

namespace samite::passes {

// Skips tile kernels, each of whose blocks adds once anyway.
ir::Kernel sum_over_launch(ir::Kernel lowered);

bool sums_over_launch(const ir::Kernel &marked);

// By parameter: arrays that the kernel only accesses by atomic additions.
std::vector<bool> arrays_only_added_to(const ir::Kernel &kernel);

}  // namespace samite::passes
