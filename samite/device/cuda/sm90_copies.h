// Copies of boxes between device memory and shared memory by the copy engine of compute capability 9.0 and newer. One
// thread starts a copy of a whole box.
#pragma once

#include "samite/device/cuda/sm90_barriers.h"

namespace samite {

// The copy engine's description of an array: its address, extents and strides, and the box of a copy. A parameter of
// the kernel; the driver makes it (samite/driver/tensor_map.h).
struct alignas(64) TensorMap {
  u64 words[16];
};

SAMITE_INLINE void fetch_map(const TensorMap *map) { asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory"); }

// Prefetches a multiple of 16 bytes, at a multiple of 16, into the level-2 cache.
SAMITE_INLINE void fetch_to_l2(const void *from, u32 bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
}

// Loads the box whose first element is at these indices, the outermost dimension first; elements outside of the array
// become zeros. The bytes of the whole box arrive at `barrier`.
template <int rank>
SAMITE_INLINE void copy_box(void *to, const TensorMap *map, const i32 (&at)[rank], u64 *barrier) {
  if constexpr (rank == 1)
    asm volatile(
        "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2}], [%3];" ::"r"(shared_address(to)),
        "l"(map), "r"(at[0]), "r"(shared_address(barrier))
        : "memory");
  else if constexpr (rank == 2)
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(to)),
        "l"(map), "r"(at[1]), "r"(at[0]), "r"(shared_address(barrier))
        : "memory");
  else if constexpr (rank == 3)
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(shared_address(to)),
        "l"(map), "r"(at[2]), "r"(at[1]), "r"(at[0]), "r"(shared_address(barrier))
        : "memory");
  else if constexpr (rank == 4)
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(shared_address(to)),
        "l"(map), "r"(at[3]), "r"(at[2]), "r"(at[1]), "r"(at[0]), "r"(shared_address(barrier))
        : "memory");
  else
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3, %4, %5, %6}], [%7];" ::"r"(shared_address(to)),
        "l"(map), "r"(at[4]), "r"(at[3]), "r"(at[2]), "r"(at[1]), "r"(at[0]), "r"(shared_address(barrier))
        : "memory");
}
// Loads to the same place in the memory of each block of the cluster whose bit in `blocks` is set. The bytes arrive at
// each block's barrier.
template <int rank>
SAMITE_INLINE void copy_box_to_blocks(void *to, const TensorMap *map, const i32 (&at)[rank], u64 *barrier, u32 blocks) {
  if constexpr (rank == 1)
    asm volatile(
        "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%2}], [%3], %4;" ::"r"(shared_address(to)),
        "l"(map), "r"(at[0]), "r"(shared_address(barrier)), "h"(u16(blocks))
        : "memory");
  else if constexpr (rank == 2)
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(to)),
        "l"(map), "r"(at[1]), "r"(at[0]), "r"(shared_address(barrier)), "h"(u16(blocks))
        : "memory");
  else if constexpr (rank == 3)
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(shared_address(to)),
        "l"(map), "r"(at[2]), "r"(at[1]), "r"(at[0]), "r"(shared_address(barrier)), "h"(u16(blocks))
        : "memory");
  else if constexpr (rank == 4)
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%2, %3, %4, %5}], [%6], %7;" ::"r"(shared_address(to)),
        "l"(map), "r"(at[3]), "r"(at[2]), "r"(at[1]), "r"(at[0]), "r"(shared_address(barrier)), "h"(u16(blocks))
        : "memory");
  else
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%2, %3, %4, %5, %6}], [%7], %8;" ::"r"(shared_address(to)),
        "l"(map), "r"(at[4]), "r"(at[3]), "r"(at[2]), "r"(at[1]), "r"(at[0]), "r"(shared_address(barrier)),
        "h"(u16(blocks))
        : "memory");
}

// Stores to device memory. Elements outside of the array are not written. The copies since the last call of
// `end_group_of_stores` form a group.
template <int rank>
SAMITE_INLINE void store_box(const TensorMap *map, const i32 (&at)[rank], const void *from) {
  if constexpr (rank == 1)
    asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%0, {%1}], [%2];" ::"l"(map), "r"(at[0]),
                 "r"(shared_address(from))
                 : "memory");
  else if constexpr (rank == 2)
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(at[1]),
                 "r"(at[0]), "r"(shared_address(from))
                 : "memory");
  else if constexpr (rank == 3)
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(map),
                 "r"(at[2]), "r"(at[1]), "r"(at[0]), "r"(shared_address(from))
                 : "memory");
  else if constexpr (rank == 4)
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%1, %2, %3, %4}], [%5];" ::"l"(map),
                 "r"(at[3]), "r"(at[2]), "r"(at[1]), "r"(at[0]), "r"(shared_address(from))
                 : "memory");
  else
    asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.bulk_group [%0, {%1, %2, %3, %4, %5}], [%6];" ::"l"(map),
                 "r"(at[4]), "r"(at[3]), "r"(at[2]), "r"(at[1]), "r"(at[0]), "r"(shared_address(from))
                 : "memory");
}
SAMITE_INLINE void end_group_of_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Waits until all but the last `groups` groups have read their data, which may then be overwritten.
template <int groups>
SAMITE_INLINE void wait_for_stores_to_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(groups) : "memory");
}

// Orders this thread's writes to shared memory, and its reads there, before later accesses by the copy engine and by
// products of warp groups.
SAMITE_INLINE void fence_for_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

}  // namespace samite
