// Roles of a block's warps and of a cluster's blocks: compute capability 9.0.
#pragma once

#include "samite/device/cuda/scalar.h"

namespace samite {

// A warp group is four warps; the number of the first one is a multiple of four. The compiler knows that the result is
// the same for all threads of a warp.
SAMITE_INLINE int warp_group_of_block() { return __shfl_sync(~0u, int(threadIdx.x / 128), 0); }

// All threads of a warp group call these. The number of registers of a thread is a multiple of 8 from 24 to 240; a
// group waits for more until others have released theirs.
template <int registers>
SAMITE_INLINE void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}
template <int registers>
SAMITE_INLINE void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}

// A barrier for two warp groups, for the one that waits, and for the one that does not.
SAMITE_INLINE void sync_with_group(int barrier) { asm volatile("bar.sync %0, 256;" ::"r"(barrier) : "memory"); }
SAMITE_INLINE void arrive_for_group(int barrier) { asm volatile("bar.arrive %0, 256;" ::"r"(barrier) : "memory"); }

// A barrier for this many threads of the block, in whole warps. 0 is that of the whole block.
template <int barrier, int threads>
SAMITE_INLINE void sync_threads_at() {
  asm volatile("bar.sync %0, %1;" ::"n"(barrier), "n"(threads) : "memory");
}

// If teams run other blocks in turn (ir::Kernel::teams), the threads of each team form a row of the block's. The
// compiler knows that the result is the same for all threads of a warp; otherwise it would treat each branch as one
// that may split a warp. A barrier for the threads of one team.
SAMITE_INLINE u32 team_of_thread() { return __shfl_sync(~0u, threadIdx.y, 0); }
template <int threads>
SAMITE_INLINE void sync_team(u32 team) {
  asm volatile("bar.sync %0, %1;" ::"r"(1 + team), "n"(threads) : "memory");
}

// Elects one thread of a warp; all of its threads call this together, and get the same one each time.
SAMITE_INLINE bool is_elected() {
  u32 elected;
  asm volatile("{\n.reg .pred elected;\nelect.sync _|elected, 0xffffffff;\nselp.u32 %0, 1, 0, elected;\n}"
               : "=r"(elected));
  return elected != 0;
}

SAMITE_INLINE u32 block_of_cluster() {
  u32 block;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(block));
  return block;
}
// Waits for all threads of all blocks of the cluster; their writes to shared memory are then visible.
SAMITE_INLINE void sync_cluster() {
  __syncwarp();
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

}  // namespace samite
