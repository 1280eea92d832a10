// Verifies barriers: finds pairs of accesses by a block's threads to the same memory, at least one of them a write,
// with no barrier in between.
//
// The check looks at a kernel whose tiles have offsets (passes/tiles/plan_tile_memory.h) and does not depend on how the
// barriers were placed. Two accesses since the last barrier, one of them a write, must be by the same thread: either
// both are at the own index of element loops over the same tile that are dealt to the threads in the same way, or one
// thread makes both for all. The own index may also be that of a row of the tile, if all rows have as many elements as
// the loops. Outside of such loops every thread stores the same: it may read what it has stored without a barrier, but
// not store what others may still have to read. Tiles are distinguished by their bytes in shared memory, and so are the
// buffers of one tile as far as their numbers are known: the check runs the first iterations of a loop with the values
// that its index and its carried values have then, and two more for all later ones, in which conditions may differ.
// Arrays are distinguished by `shares_memory`. A copy has arrived once its group has been waited for and a barrier has
// followed.
//
// Calls on tiles are assumed to synchronise internally. Copies and products with barriers of their own, which order
// roles, teams and turns, are proven by passes/analysis/role_order.h; this check includes it.
//
// In a kernel of a scheduled pipeline, each element of an array, and each element of memory within one thread loop,
// belongs to one thread: the schedule ensures that. Between thread loops, passes/analysis/own_elements.h says which
// elements of memory stay with one thread.
#pragma once

#include "samite/passes/analysis/block_hazards.h"

#include <string>
#include <vector>

namespace samite::passes {

struct Synchronisation {
  // As text, one for each pair of statements: "$3 is written, and $3 is read with no barrier between them (gemm.cpp:12,
  // gemm.cpp:14)". Empty if the barriers suffice.
  std::vector<std::string> missing;
  // Unprovable assumptions: a loop over elements that loads from the array it stores to, at another index, accesses its
  // own elements, which passes/tiles/lower_tiles.h ensures.
  std::vector<std::string> assumed;
};

Synchronisation unsynchronised(const ir::Kernel &planned, const SharesMemory &shares_memory);

}  // namespace samite::passes
