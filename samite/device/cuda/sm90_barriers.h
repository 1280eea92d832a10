// Barriers in shared memory, of compute capability 9.0 and newer.
//
// The phases of a barrier follow one another; the first is phase 0. A phase ends when as many threads have arrived as
// the barrier expects, and all bytes announced in it have been copied. A thread waits for the end of the phase of a
// given parity, and does not block if that phase is the previous one. So no thread may fall two phases behind. After
// waiting, a thread sees the writes before the arrivals, and the copied data.
#pragma once

#include "samite/device/cuda/scalar.h"

namespace samite {

SAMITE_INLINE u32 shared_address(const void *p) { return u32(__cvta_generic_to_shared(p)); }

SAMITE_INLINE void make_barrier(u64 *barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}
// After this, and a barrier of the block or of the cluster, copies and other threads see the new barriers.
SAMITE_INLINE void show_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
// Its memory may then be used for anything else.
SAMITE_INLINE void end_barrier(u64 *barrier) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}

SAMITE_INLINE void arrive(u64 *barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
// Arrives at the barrier at the same address in the memory of another block of the cluster. For completed reads: it
// does not make this thread's writes visible there, which takes a fence of the whole device.
SAMITE_INLINE void arrive_in_block(u64 *barrier, u32 block) {
  asm volatile(
      "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(shared_address(barrier)),
      "r"(block)
      : "memory");
}
// 16 bytes at the same place in the memory of another block of the cluster.
SAMITE_INLINE void load_of_block(u32 (&words)[4], const void *p, u32 block) {
  asm volatile(
      "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %4, %5;\n"
      "ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [there];\n}"
      : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
      : "r"(shared_address(p)), "r"(block)
      : "memory");
}
SAMITE_INLINE void store_in_block(void *p, u32 block, const u32 (&words)[4]) {
  asm volatile(
      "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
      "st.shared::cluster.v4.u32 [there], {%2, %3, %4, %5};\n}" ::"r"(shared_address(p)),
      "r"(block), "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
      : "memory");
}
// Arrives, and announces the bytes of copies.
SAMITE_INLINE void arrive_expecting(u64 *barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}

SAMITE_INLINE bool phase_has_ended(u64 *barrier, u32 parity) {
  u32 ended;
  asm volatile(
      "{\n.reg .pred ended;\nmbarrier.try_wait.parity.shared::cta.b64 ended, [%1], %2;\nselp.u32 %0, 1, 0, ended;\n}"
      : "=r"(ended)
      : "r"(shared_address(barrier)), "r"(parity)
      : "memory");
  return ended != 0;
}
SAMITE_INLINE void wait_for_phase(u64 *barrier, u32 parity) {
  while (!phase_has_ended(barrier, parity)) {
  }
}
}  // namespace samite
