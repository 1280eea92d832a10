// What a kernel writes down when an instance does something wrong. The host's side of the same layout is
// samite/codegen/failure.h.
#pragma once

#include "samite/device/cpu/scalar.h"

namespace samite {

// The index of the instance that a check belongs to, or of the block. In vectors it is the index of the first lane;
// dimension `along` grows by one from lane to lane, or no dimension does (-1).
struct Instance {
  i64 index[4];
  u32 rank;  // 0: it is not known
  i32 along;
};

SAMITE_INLINE Instance of_lane(Instance first, i32 lane) {
  if (first.along >= 0) first.index[first.along] += lane;
  return first;
}

struct Failure {
  u32 state;  // 0: none; 1: being written; 2: complete
  u32 kind;
  u32 array;  // which parameter; of failure_memory: which place of the program
  u32 dimension;
  i64 index, extent;
  u32 file, line;
  void (*message)(Failure *failure, u32 site, const i64 *instance, const u64 *values);
  Instance instance;
};
static_assert(sizeof(Failure) == 88 && __builtin_offsetof(Failure, index) == 16 &&
              __builtin_offsetof(Failure, instance) == 48);

// A value of a message: its bits.
template <class T>
SAMITE_INLINE u64 message_value(T value) {
  u64 bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  return bits;
}

enum : u32 { failure_index = 1, failure_division = 2, failure_local_index = 3, failure_memory = 4 };

// Keeps the first failure of a launch. Later ones, and those of other threads, are dropped.
static __attribute__((noinline, cold, unused)) void report(Failure *failure, u32 kind, u32 array, u32 dimension,
                                                           i64 index, i64 extent, u32 file, u32 line,
                                                           const Instance *instance = nullptr) {
  u32 none = 0;
  if (!__atomic_compare_exchange_n(&failure->state, &none, 1u, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return;
  failure->kind = kind;
  failure->array = array;
  failure->dimension = dimension;
  failure->index = index;
  failure->extent = extent;
  failure->file = file;
  failure->line = line;
  if (instance) failure->instance = *instance;
  __atomic_store_n(&failure->state, 2u, __ATOMIC_RELEASE);
}

// Where the program is that may fail.
struct Where {
  u32 file, line;
};

// Debug checks are in most lines of a kernel. They are calls: inline, the kernel would take many times as long to
// compile. `instance` is null if the instance is not known.
static __attribute__((noinline, cold, unused)) bool index_outside(Failure *failure, i64 index, i64 extent, u32 array,
                                                                  u32 dimension, Where where,
                                                                  const Instance *instance) {
  report(failure, failure_index, array, dimension, index, extent, where.file, where.line, instance);
  return false;
}

// Whether indices are inside of an array.
template <class... Index>
static __attribute__((noinline, unused)) bool indices_inside(Failure *failure, const i64 *extent, u32 array,
                                                             const Instance *instance, Where where, Index... indices) {
  u32 d = 0;
  const auto is_inside = [&](i64 index) {
    const u32 dimension = d++;
    if (__builtin_expect(u64(index) < u64(extent[dimension]), 1)) return true;
    return index_outside(failure, index, extent[dimension], array, dimension, where, instance);
  };
  return (is_inside(i64(indices)) && ...);
}

static __attribute__((noinline, unused)) bool in_local_bounds(Failure *failure, i64 index, i64 size,
                                                              const Instance *instance, Where where) {
  if (__builtin_expect(index >= 0 && index < size, 1)) return true;
  report(failure, failure_local_index, 0, 0, index, size, where.file, where.line, instance);
  return false;
}

static __attribute__((noinline, cold, unused)) void divided_by_zero(Failure *failure, const Instance *instance,
                                                                    Where where) {
  report(failure, failure_division, 0, 0, 0, 0, where.file, where.line, instance);
}
template <class T>
SAMITE_INLINE void check_divisor(Failure *failure, T divisor, const Instance *instance, Where where) {
  if (__builtin_expect(divisor == 0, 0)) divided_by_zero(failure, instance, where);
}

}  // namespace samite
