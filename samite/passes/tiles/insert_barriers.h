// Inserts a `Barrier` wherever the threads of a block must wait for each other, for targets whose blocks have threads.
//
//   - After an element loop, unless it touches nothing that other threads see.
//   - Before an element loop that stores to an array that some thread may still have to read
//   (passes/analysis/block_hazards.h).
//   - Around statements that one thread runs for all: a store, an addition, a message. Each becomes a loop over one
//     element.
//   - After a call on tiles, except: after a load, whose copies overlap the statements that follow; after the
//     product at the end of a loop that prefetches, if its sums are in registers, because the next iteration begins
//     with a barrier; and after a main loop with sums in registers, which waits itself.
//   - After every thread has read an element of a tile in shared memory.
//   - At the end of a block, if no barrier follows the block's last per-thread reduction: its threads may still be
//     reading the parts that they exchanged (`exchanges_parts`).
//   - Before the first statement that needs copies in flight, and at the end of their block (`commit_copies`,
//     `wait_for_copies 0`, `barrier`).
//
// A loop that prefetches has its own barriers between iterations (passes/tiles/pipeline_loops.h).
#pragma once

#include "samite/passes/analysis/block_hazards.h"

namespace samite::passes {

// After place_tiles, stage_loads and spread_tiles.
ir::Kernel insert_barriers(ir::Kernel placed, const SharesMemory &shares_memory);

}  // namespace samite::passes
