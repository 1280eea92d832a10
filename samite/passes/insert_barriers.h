// Writes out where the threads of a block wait for each other (`Barrier`), for targets whose blocks have threads.
//
//   - After a loop over elements, unless it touches nothing that other threads see.
//   - Before a loop over elements that stores to an array which some thread may not have read yet
//     (passes/block_hazards.h).
//   - Around what one thread does for all: a store, an addition, a message. It becomes a loop over one element.
//   - After a call on tiles. Not after a load, whose copies go on beside what follows; nor after the product at the end
//     of a loop that loads ahead, whose sums are in registers: the next iteration begins with a barrier; nor after a
//     loop of products with sums in registers, which waits by itself.
//   - After every thread has read an element of a tile in shared memory.
//   - At the end of a block after whose last reduction to a value of each thread no barrier comes: its threads may be
//     reading what they exchanged (`exchanges_parts`).
//   - Before the first statement that needs copies which are on their way, and at the end of their block
//     (`commit_copies`, `wait_for_copies 0`, `barrier`).
//
// A loop that loads ahead has barriers of its own between its iterations, which are part of how it is written.
#pragma once

#include "samite/passes/block_hazards.h"

namespace samite::passes {

// After place_tiles, stage_loads and spread_tiles.
ir::Kernel insert_barriers(ir::Kernel placed, const SharesMemory &shares_memory);

}  // namespace samite::passes
