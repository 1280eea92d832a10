// Decides how many neighbouring instances one thread runs side by side (passes/threads/side_by_side.h), and for which
// kernels that pays.
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

// As many as fill 16 bytes of the widest elements that are loaded or stored contiguously, up to 8, or 4 with loops; 1
// if it does not pay. For a lowered kernel.
int worthwhile_instances_per_thread(const ir::Kernel &lowered);

// The same for a launch, which must leave enough threads to fill a device: a power of two from 1 to `worthwhile`.
// The extents are positive.
int instances_per_thread(int worthwhile, std::span<const std::int64_t> extents, int multiprocessors);

// The threads of a block, in a kernel of threads. Small launches have fewer.
inline constexpr int most_threads_of_block = 256;

// The number of concurrent blocks on a multiprocessor that the code should allow, which limits a thread's registers; 0
// leaves that to the compiler. `march`: as in passes/threads/march.h.
struct ThreadsOfBlock {
  int threads, instances_of_thread, march;
};
int blocks_at_once(const ir::Kernel &planned, const ThreadsOfBlock &block);

}  // namespace samite::passes
