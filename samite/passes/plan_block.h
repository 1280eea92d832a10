// What the threads of a block do with its tiles, decided before any text is written: where each tile is, where it lies
// in shared memory, and where the threads wait for each other.
#pragma once

#include "samite/passes/insert_barriers.h"
#include "samite/passes/plan_tile_memory.h"

namespace samite::passes {

struct BlockPlan {
  ir::Kernel kernel;  // with barriers
  TilePlacement placement;
  TileMemoryPlan memory;
};

// For targets whose blocks have threads and shared memory. A kernel without tiles stays as it is.
BlockPlan plan_block(const ir::Kernel &lowered, const SharesMemory &shares_memory);

}  // namespace samite::passes
