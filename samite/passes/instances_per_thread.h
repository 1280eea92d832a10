// How many neighbours a thread should run at a time (passes/side_by_side.h), and which kernels gain by it.
//
// Straight-line code that streams arrays gains: what the neighbours load and store is one instruction of 16 bytes, and
// fewer threads keep more memory in flight. So do loops that all instances go through alike and that load the same
// elements for all: an element that is loaded serves all neighbours. Other loops and local arrays would take registers
// from threads that have enough to do as it is.
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
