// Accesses of a block's threads to one memory with no barrier between them, of which one writes.
//
// This looks at a kernel whose tiles have their places and offsets (passes/plan_tile_memory.h), and knows nothing of
// how its barriers came to be where they are. Two accesses since the last barrier, one of them a write, must be by the
// same thread: elements of one tile that loops over elements touch at their own index, dealt to the threads in the same
// way; or what one thread does for all. Tiles are told apart by the bytes that they have in shared memory, arrays by
// `shares_memory`. A copy that is on its way counts until a `barrier copies`.
//
// Within one statement only loops over elements are looked at. A call on tiles, and a loop that loads ahead between its
// iterations, are taken to keep order by themselves. Windows of arrays are not told apart: a loop over elements that
// loads from the array it stores to is taken to touch its own elements alone, as passes/lower_tiles.h makes sure.
#pragma once

#include "samite/passes/block_hazards.h"

#include <string>
#include <vector>

namespace samite::passes {

// In words, one for each pair of statements: "$3 is written, and read since (gemm.cpp:12, gemm.cpp:14)". Empty where
// the barriers are enough.
std::vector<std::string> unsynchronised(const ir::Kernel &planned, const SharesMemory &shares_memory);

}  // namespace samite::passes
