// A kernel's reports to the host: the first failure of a launch, and its prints and checks. The host's side of the same
// layout is samite/codegen/cuda_channel.h.
#pragma once

#include "samite/device/cuda/intrinsics.h"

namespace samite {

// The index of the instance that a check belongs to, or of the block. `rank` is 0 if the index is not known.
struct Instance {
  i64 index[4];
  u32 rank, reserved;
};

struct Failure {
  u32 state;  // 0: none; 1: being written; 2: complete
  u32 kind;
  u32 array;  // the parameter; for failure_memory, the place in the program
  u32 dimension;
  i64 index, extent;
  u32 file, line;
  Instance instance;
};
static_assert(sizeof(Failure) == 80, "as codegen/cuda_channel.h lays it out");

struct Channel {
  Failure failure;
  u32 lost_prints, lost_checks;  // records that had no room
  u64 used, capacity;            // 8-byte words after this: requested, and available
  SAMITE_INLINE_MEMBER u64 *words() { return reinterpret_cast<u64 *>(this + 1); }
};
static_assert(sizeof(Channel) == 104, "as codegen/cuda_channel.h lays it out");

enum : u32 { failure_index = 1, failure_division = 2, failure_local_index = 3, failure_memory = 4 };
// The dimension of a failure_memory: the owner of the memory.
enum : u32 { failure_of_thread = 0, failure_of_block = 1 };

// Keeps the first failure of a launch. Later ones, and those of other threads, are dropped.
static __device__ __noinline__ void report(Failure *failure, u32 kind, u32 array, u32 dimension, i64 index, i64 extent,
                                           u32 file, u32 line, const Instance *instance = nullptr) {
  if (load_current(&failure->state) != 0 || compare_exchange(&failure->state, 0u, 1u) != 0) return;
  failure->kind = kind;
  failure->array = array;
  failure->dimension = dimension;
  failure->index = index;
  failure->extent = extent;
  failure->file = file;
  failure->line = line;
  if (instance) failure->instance = *instance;
  publish();
  exchange(&failure->state, 2u);
}

// A place in the program that may fail.
struct Where {
  u32 file, line;
};

// Debug checks are in most lines of a kernel. They are calls: inline checks would make a kernel take many times as long
// to compile. `instance` is null if the instance is not known.
static __device__ __noinline__ bool index_outside(Failure *failure, i64 index, i64 extent, u32 array, u32 dimension,
                                                  Where where, const Instance *instance) {
  report(failure, failure_index, array, dimension, index, extent, where.file, where.line, instance);
  return false;
}

// Whether indices are inside an array.
template <class... Index>
static __device__ __noinline__ bool indices_inside(Failure *failure, const i64 *extent, u32 array,
                                                   const Instance *instance, Where where, Index... indices) {
  u32 d = 0;
  const auto is_inside = [&](i64 index) {
    const u32 dimension = d++;
    if (__builtin_expect(u64(index) < u64(extent[dimension]), 1)) return true;
    return index_outside(failure, index, extent[dimension], array, dimension, where, instance);
  };
  return (is_inside(i64(indices)) && ...);
}

SAMITE_INLINE bool in_local_bounds(Failure *failure, i64 index, i64 size, const Instance *instance, Where where) {
  if (__builtin_expect(index >= 0 && index < size, 1)) return true;
  report(failure, failure_local_index, 0, 0, index, size, where.file, where.line, instance);
  return false;
}

template <class T>
SAMITE_INLINE void check_divisor(Failure *failure, T divisor, const Instance *instance, Where where) {
  if (__builtin_expect(divisor == 0, 0))
    report(failure, failure_division, 0, 0, 0, 0, where.file, where.line, instance);
}

// A value of a message: its bits.
SAMITE_INLINE u64 message_value(f32 value) { return bits_of(value); }
SAMITE_INLINE u64 message_value(f64 value) { return bits_of(value); }
template <class T>
SAMITE_INLINE u64 message_value(T value) {
  return sizeof(T) == 8 ? u64(value) : u64(value) & ((u64(1) << (8 * sizeof(T) & 63)) - 1);
}

// A record begins with a word: the site in its lower half, the number of the record's words in its upper half, this one
// included, so that it is not zero. Then come the index of the instance (of a check) and the values.
static __device__ __noinline__ void send(Channel *channel, u32 site, bool is_check, u32 count, const u64 *words) {
  const u64 size = u64(count) + 1, at = fetch_add(&channel->used, size);
  if (at + size > channel->capacity) {
    fetch_add(is_check ? &channel->lost_checks : &channel->lost_prints, 1u);
    return;
  }
  u64 *record = channel->words() + at;
  for (u32 i = 0; i < count; ++i) record[i + 1] = words[i];
  record[0] = size << 32 | site;
}

}  // namespace samite
