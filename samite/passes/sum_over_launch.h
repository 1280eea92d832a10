// Which additions all instances of a launch make to one element: a loss, or the gradient of a scalar. Where a thread
// runs each instance, the threads sum them, then the blocks, and each block adds once.
//
// Only of arrays that the kernel adds to atomically and touches in no other way, so that nothing tells when it happens.
// This marks each such `Accumulate` (`over_launch`). Few threads with many instances each, which the grid-stride form
// has, are then many times faster than a thread for each instance. A pure function of a lowered kernel, for a GPU.
#pragma once

#include "samite/ir/kernel.h"

#include <vector>

namespace samite::passes {

// Not of tile kernels, each of whose blocks adds once as it is.
ir::Kernel sum_over_launch(ir::Kernel lowered);

bool sums_over_launch(const ir::Kernel &marked);

// By parameter: arrays that the kernel adds to atomically and touches in no other way.
std::vector<bool> arrays_only_added_to(const ir::Kernel &kernel);

}  // namespace samite::passes
