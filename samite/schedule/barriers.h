// Where the threads of a block wait for each other in a kernel of a scheduled pipeline.
//
// A barrier stands before what reads memory that the block shares, where other threads may have written to it since the
// last one, and before what writes to it, where others may have read or written. Loops are gone through as often as it
// takes: what an iteration leaves is there for the next one. One thread's own memory needs none.
//
// Memory that is not there at one time may lie in one place (passes/plan_tile_memory.h): a barrier stands between the
// last use of the one and the first of the other. What is loaded ahead has the barriers that load_ahead gave it.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::schedules {

// The body of a kernel whose thread loops touch shared memory.
ir::Block with_barriers(const ir::Kernel &kernel);

}  // namespace samite::schedules
