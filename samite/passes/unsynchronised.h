// Accesses of a block's threads to one memory with no barrier between them, of which one writes.
//
// This looks at a kernel whose tiles have their offsets (passes/plan_tile_memory.h), and knows nothing of how its
// barriers came to be where they are. Two accesses since the last barrier, one of them a write, must be by the same
// thread: elements of one tile that loops over elements touch at their own index, dealt to the threads in the same way;
// or what one thread does for all. Tiles are told apart by the bytes that they have in shared memory, and so are the
// buffers of one, as far as their numbers are known: the first iterations of a loop are gone through with the values
// that its index and what it carries have then. Arrays are told apart by `shares_memory`. A copy is there after its
// group has been waited for, and then a barrier.
//
// A call on tiles is taken to keep order by itself.
#pragma once

#include "samite/passes/block_hazards.h"

#include <string>
#include <vector>

namespace samite::passes {

struct Synchronisation {
  // In words, one for each pair of statements: "$3 is written, and $3 is read with no barrier between them
  // (gemm.cpp:12, gemm.cpp:14)". Empty where the barriers are enough.
  std::vector<std::string> missing;
  // What cannot be told, and is taken to be so: a loop over elements that loads from the array it stores to at another
  // index touches elements of its own, as passes/lower_tiles.h makes sure.
  std::vector<std::string> assumed;
};

Synchronisation unsynchronised(const ir::Kernel &planned, const SharesMemory &shares_memory);

}  // namespace samite::passes
