// Warps of a block, and blocks of a cluster, that do different things: compute capability 9.0.
#pragma once

#include "samite/device/cuda/scalar.h"

namespace samite {

// A warp group is four warps, from one whose number is a multiple of four. The same for all threads of a warp, and the
// compiler knows it.
SAMITE_INLINE int warp_group_of_block() { return __shfl_sync(~0u, int(threadIdx.x / 128), 0); }

// All threads of a warp group call these. The registers of a thread are a multiple of 8 from 24 to 240; a group waits
// for more until others have given theirs.
template <int registers>
SAMITE_INLINE void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}
template <int registers>
SAMITE_INLINE void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}

// A barrier for two warp groups: one that waits, and one that does not.
SAMITE_INLINE void sync_with_group(int barrier) { asm volatile("bar.sync %0, 256;" ::"r"(barrier) : "memory"); }
SAMITE_INLINE void arrive_for_group(int barrier) { asm volatile("bar.arrive %0, 256;" ::"r"(barrier) : "memory"); }

// A barrier for as many threads of the block, whole warps. 0 is that of the whole block.
template <int barrier, int threads>
SAMITE_INLINE void sync_threads_at() {
  asm volatile("bar.sync %0, %1;" ::"n"(barrier), "n"(threads) : "memory");
}

// Where teams run other blocks in turn (ir::Kernel::teams), the threads of each are a row of the block's. The same for
// all threads of a warp, and the compiler knows it: else it takes each branch for one that may part a warp. A barrier
// for those of one team.
SAMITE_INLINE u32 team_of_thread() { return __shfl_sync(~0u, threadIdx.y, 0); }
template <int threads>
SAMITE_INLINE void sync_team(u32 team) {
  asm volatile("bar.sync %0, %1;" ::"r"(1 + team), "n"(threads) : "memory");
}

// One of a warp's threads, all of which call this together: the same one each time.
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
// Waits for all threads of all blocks of the cluster, whose writes to shared memory are then seen.
SAMITE_INLINE void sync_cluster() {
  __syncwarp();
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

}  // namespace samite
