// Finds stores to arrays that need a barrier first, because another thread of the block may still have to read the
// element that the store overwrites.
//
// In a lowered tile kernel every thread runs what is outside of element loops: loads of single elements, conditions,
// ends of loops. Some loads of tiles go to registers without a barrier after them. So an element loop that stores to an
// array needs a barrier before it, unless one has come since the last such read of that array, or of an array that may
// share its memory. The order is the order of execution, around loops too.
//
// Stores that one thread makes for all, and element loops whose results other threads read, always have barriers
// (passes/tiles/insert_barriers.h).
//
// A pure function of a lowered kernel whose tiles are placed, for targets whose blocks have threads.
#pragma once

#include "samite/ir/kernel.h"

#include <functional>
#include <set>

namespace samite::passes {

// Whether a statement accesses no memory, except for allocations.
bool touches_no_memory(const ir::Stmt &stmt);

// Whether a loop over elements accesses more than arrays that it reads and register tiles, which need no barriers.
bool others_see(const ir::For &loop, const std::set<ir::LocalArrayId> &registers);

// Whether a statement on tiles needs no barrier after it: its result is in registers, and other threads see none of its
// effects.
bool is_in_registers(const ir::Stmt &stmt, const std::set<ir::LocalArrayId> &registers);

// Whether the threads together compute a result that each of them has (`everywhere`, ir/layout.h): they write parts of
// it to memory, synchronise, and read all parts. Each continues as soon as it has read them.
bool exchanges_parts(const ir::TileCall &call, const std::set<ir::LocalArrayId> &registers);

// Whether a statement may run while copies to shared memory are in flight: it uses none of their tiles, and takes no
// memory from another tile. All others wait for the copies.
bool goes_beside_copies(const ir::Stmt &stmt);

// Whether two arrays, by parameter, may overlap: one that is read, and one that is written.
using SharesMemory = std::function<bool(std::uint32_t read, std::uint32_t written)>;

// The loops over elements that need a barrier before them, by their index.
std::set<ir::LocalId> loops_after_reads(const ir::Kernel &placed, const SharesMemory &shares_memory);

}  // namespace samite::passes
