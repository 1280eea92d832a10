// Decides how many neighbouring instances one thread runs side by side (passes/side_by_side.h), and for which kernels
// that pays.
//
// Straight-line code that streams arrays gains: the neighbours load and store 16 bytes in one instruction, and fewer
// threads keep more memory requests in flight. Loops that all instances run alike, with loads that are the same for
// all, gain too: one load serves all neighbours. In other loops, and with local arrays, the extra registers cost more
// than they save.
#pragma once

#include "samite/ir/kernel.h"

#include <cstdint>
#include <span>

namespace samite::passes {

// How many: as fill 16 bytes of the widest elements that are loaded or stored next to each other, up to 8, or 4 where
// there are loops; 1 where it would not help. Of a lowered kernel.
int worthwhile_instances_per_thread(const ir::Kernel &lowered);

// The same for a launch, which must leave enough threads to fill a device: a power of two from 1 to `worthwhile`.
// The extents are positive.
int instances_per_thread(int worthwhile, std::span<const std::int64_t> extents, int multiprocessors);

// Of how many blocks at a time a multiprocessor should be able to run the code, which bounds a thread's registers; 0
// leaves that to the compiler. `march`: as passes/march.h has it.
struct ThreadsOfBlock {
  int threads, instances_of_thread, march;
};
int blocks_at_once(const ir::Kernel &planned, const ThreadsOfBlock &block);

}  // namespace samite::passes
