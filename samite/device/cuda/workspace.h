// Local arrays that are not in a thread's own memory. The host's side of the same layout is
// samite/codegen/cuda_launch.h.
//
// Each thread of the grid has a stack of its own. The stacks are interleaved in words of 8 bytes: threads that access
// the same element of their arrays access neighbours in memory. With `threads` threads in the grid, byte b of the stack
// of thread t is at
//
//   base + (b / 8 * threads + t) * 8 + b % 8
//
// Words have one size for all arrays, so that the stacks never overlap, even if their depths differ.
//
// In a tile kernel the stacks of each block are contiguous and interleaved among themselves, and all have equal depth.
// A row of words, one for each thread, is then contiguous, and so is a tile, which takes as many rows as it needs.
#pragma once

#include "samite/device/cuda/channel.h"

namespace samite {

struct Workspace {
  u8 *base;
  i64 bytes_per_thread;
};
static_assert(sizeof(Workspace) == 16, "as codegen/cuda_launch.h lays it out");

struct ThreadStack {
  Workspace memory;
  i64 next;  // bytes in use, a multiple of 8
  i64 threads, thread;
};

SAMITE_INLINE ThreadStack stack_in_grid(const Workspace &all) { return {all, 0, threads_of_grid(), thread_of_grid()}; }

SAMITE_INLINE ThreadStack stack_in_block(const Workspace &all) {
  const i64 first = thread_of_grid() - thread_of_block();
  return {{all.base + first * all.bytes_per_thread, all.bytes_per_thread}, 0, threads_of_block(), thread_of_block()};
}

// Its destructor releases the memory that was allocated during its lifetime.
struct WorkspaceScope {
  ThreadStack &stack;
  i64 next;

  SAMITE_INLINE_MEMBER explicit WorkspaceScope(ThreadStack &used) : stack(used), next(used.next) {}
  WorkspaceScope(const WorkspaceScope &) = delete;
  SAMITE_INLINE_MEMBER ~WorkspaceScope() { stack.next = next; }
};

template <class T>
struct InterleavedArray {
  u8 *first;  // the word of element 0; null if there is no memory
  i64 word_step;

  SAMITE_INLINE_MEMBER T &operator[](i64 k) const {
    constexpr u64 in_word = 8 / sizeof(T);
    return *reinterpret_cast<T *>(first + i64(u64(k) / in_word) * word_step + u64(k) % in_word * sizeof(T));
  }
};

// `count` elements. If there is no memory, the failure is reported with the requested size.
template <class T>
SAMITE_INLINE InterleavedArray<T> allocate(ThreadStack &stack, Failure *failure, i64 count, u32 site) {
  constexpr i64 unknown = ~(i64(1) << 63), most = unknown / 16;
  const i64 elements = count > 0 ? count : 0;
  if (__builtin_expect(elements <= most, 1)) {
    const i64 bytes = (elements * i64(sizeof(T)) + 7) & -i64(8);
    if (__builtin_expect(bytes <= stack.memory.bytes_per_thread - stack.next, 1)) {
      u8 *const first = stack.memory.base + stack.next * stack.threads + stack.thread * 8;
      stack.next += bytes;
      return {first, stack.threads * 8};
    }
    report(failure, failure_memory, site, failure_of_thread, bytes, stack.memory.bytes_per_thread, 0, 0);
  } else {
    report(failure, failure_memory, site, failure_of_thread, unknown, stack.memory.bytes_per_thread, 0, 0);
  }
  return {nullptr, 0};
}

// The same for a block; all its threads call this. A failure reports the total that each thread would need.
template <class T>
SAMITE_INLINE T *allocate_in_block(ThreadStack &stack, Failure *failure, i64 count, u32 site) {
  constexpr i64 unknown = ~(i64(1) << 63), most = unknown / 16;
  // The memory may have been a thread's own, and that thread may still read it.
  __syncthreads();
  const i64 elements = count > 0 ? count : 0, row = stack.threads * 8;
  const i64 end = elements <= most ? stack.next + (elements * i64(sizeof(T)) + row - 1) / row * 8 : unknown;
  if (__builtin_expect(end <= stack.memory.bytes_per_thread, 1)) {
    T *const first = reinterpret_cast<T *>(stack.memory.base + stack.next * stack.threads);
    stack.next = end;
    return first;
  }
  report(failure, failure_memory, site, failure_of_block, end, stack.memory.bytes_per_thread, 0, 0);
  return nullptr;
}

}  // namespace samite
