// Finds stores to arrays that need a barrier first, because another thread of the block may still have to read the
// element that the store overwrites.
//
// In a lowered tile kernel every thread runs what is outside of element loops: loads of single elements, conditions,
// ends of loops. Some loads of tiles go to registers without a barrier after them. So an element loop that stores to an
// array needs a barrier before it, unless one has come since the last such read of that array, or of an array that may
// share its memory. The order is the order of execution, around loops too.
//
// Stores that one thread makes for all, and element loops whose results other threads read, always have barriers
// (passes/insert_barriers.h).
//
// A pure function of a lowered kernel whose tiles are placed, for targets whose blocks have threads.
#pragma once

#include "samite/ir/kernel.h"

#include <functional>
#include <set>

namespace samite::passes {

// Whether a statement touches no memory at all, but for making room in it.
bool touches_no_memory(const ir::Stmt &stmt);

// Whether a loop over elements touches more than arrays that it reads and tiles which need no barriers: in registers.
bool others_see(const ir::For &loop, const std::set<ir::LocalArrayId> &registers);

// Whether the threads go on from a call alone: it leaves what it makes in registers, and others see nothing of it.
bool is_in_registers(const ir::TileCall &call, const std::set<ir::LocalArrayId> &registers);

// Whether the threads find a result together that each of them has (`everywhere`, ir/layout.h): they write parts of it
// to memory, wait for each other, and read all parts. Each goes on as soon as it has read them.
bool exchanges_parts(const ir::TileCall &call, const std::set<ir::LocalArrayId> &registers);

// Whether a statement needs nothing of a tile that is on its way to shared memory, and takes no memory from another:
// all others wait for what is on its way.
bool goes_beside_copies(const ir::Stmt &stmt);

// Whether two arrays, by parameter, may have memory in common: one that is read, and one that is written.
using SharesMemory = std::function<bool(std::uint32_t read, std::uint32_t written)>;

// The loops over elements that need a barrier before them, by their index.
std::set<ir::LocalId> loops_after_reads(const ir::Kernel &placed, const SharesMemory &shares_memory);

}  // namespace samite::passes
