// The record that a kernel writes when an instance fails. The host's side of the same layout is
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

// A place in the program that may fail.
struct Where {
  u32 file, line;
};

struct Failure;

// An access by lanes, some of them outside of an array. Contains the indices of all lanes, one dimension after another.
struct Outside {
  const i64 *indices, *extent;
  u64 active;  // bit k for lane k
  u32 lanes, rank, array;
  Where where;
  const Instance *first;
};

// A step of active lanes on the words of their elements in the search for races (samite/passes/threads/check_races.h).
struct LaneClaims {
  const i64 *number, *instance;  // the lanes' instances: their numbers, and their indices by dimension
  i64 *shadow;
  const i64 *stride, *indices;  // of the shadow and its elements, by dimension
  i64 *words;                   // the word that each lane finds
  u64 active, looking;          // which lanes take the step, and which may report a race
  i64 access;
  u32 lanes, instance_rank, rank, site, claims;  // `claims`: stores the instance's own word if there is none
};

// The host's functions for debug mode, which each kernel would otherwise compile again.
struct DebugSteps {
  void (*outside)(Failure *failure, const Outside *outside);
  void (*claim)(Failure *failure, const LaneClaims *claims);
};

struct Failure {
  u32 state;  // 0: none; 1: being written; 2: complete
  u32 kind;
  u32 array;  // the parameter; for failure_memory, the place in the program
  u32 dimension;
  i64 index, extent;
  u32 file, line;
  void (*message)(Failure *failure, u32 site, const i64 *instance, const u64 *values);
  const DebugSteps *debug;  // null unless the kernel is compiled for debugging
  Instance instance;
};
static_assert(sizeof(Failure) == 96 && __builtin_offsetof(Failure, index) == 16 &&
              __builtin_offsetof(Failure, instance) == 56);
static_assert(sizeof(Outside) == 56 && sizeof(LaneClaims) == 96);

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

// Debug checks are in most lines of a kernel. They are calls: inline checks would make a kernel take many times as long
// to compile. `instance` is null if the instance is not known.
static __attribute__((noinline, cold, unused)) bool index_outside(Failure *failure, i64 index, i64 extent, u32 array,
                                                                  u32 dimension, Where where,
                                                                  const Instance *instance) {
  report(failure, failure_index, array, dimension, index, extent, where.file, where.line, instance);
  return false;
}

// Whether indices are inside an array.
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
