// Inserts barriers into a kernel of a scheduled pipeline, where the threads of a block must wait for each other.
//
// A barrier precedes a read of shared memory that other threads may have written since the last barrier, and a write to
// shared memory that other threads may have read or written since. Loops are analysed until nothing changes, because
// the accesses of one iteration are pending in the next. Memory of a single thread needs no barrier, and neither does
// an array in which each thread touches only its own elements (passes/analysis/own_elements.h).
//
// Memory whose live ranges do not overlap may share an offset (passes/tiles/plan_tile_memory.h), so a barrier separates
// the last use of one from the first use of the other. Prefetched memory has the barriers that load_ahead placed.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::schedules {

// The body of a kernel whose thread loops use shared memory.
ir::Block with_barriers(const ir::Kernel &kernel);

}  // namespace samite::schedules
