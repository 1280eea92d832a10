// Debug mode's checks on vectors, which return the lanes that may continue. Each is a call: inline, the many checks of
// a kernel would make it take many times as long to compile.
#pragma once

#include "samite/device/cpu/failure.h"
#include "samite/device/cpu/lanes/atomic.h"

namespace samite::SAMITE_LANES_NAMESPACE {

// The index of a lane is one more than that of the lane before.
template <class T>
struct Neighbours {
  T first;
};

// The instance of a lane.
SAMITE_INLINE Instance of_lane(const Instance *first, i32 lane) { return first ? of_lane(*first, lane) : Instance{}; }

SAMITE_INLINE I64 each_index(i64 index) { return I64(index); }
template <class T>
SAMITE_INLINE I64 each_index(Neighbours<T> indices) {
  return I64(i64(indices.first)) + lane_i64;
}
template <class T>
SAMITE_INLINE I64 each_index(Vector<T> indices) {
  return __builtin_convertvector(indices, I64);
}

// The lanes whose index is inside an extent: as unsigned numbers, negative ones are large.
template <class Index>
SAMITE_INLINE Mask below(Index indices, i64 extent) {
  return to_mask(__builtin_convertvector(each_index(indices), U64) < U64(extent));
}
SAMITE_INLINE Mask below(i64 index, i64 extent) { return Mask(u64(index) < u64(extent)); }

// The lanes whose indices are inside an array.
template <class... Index>
static __attribute__((noinline, unused)) Mask lane_indices_inside(Failure *failure, Mask m, const i64 *extent,
                                                                  u32 array, const Instance *first, Where where,
                                                                  Index... indices) {
  Mask inside = m;
  u32 dimension = 0;
  ((inside &= below(indices, extent[dimension++])), ...);
  if (__builtin_expect(bits(inside) != bits(m), 0)) {
    const I64 all[] = {each_index(indices)..., I64(0)};
    const Outside outside{
        reinterpret_cast<const i64 *>(all), extent, bits(m), u32(lane_count), dimension, array, where, first};
    failure->debug->outside(failure, &outside);
  }
  return inside;
}

// Whether an element that all lanes share is inside, and any lane is active.
template <class... Index>
static __attribute__((noinline, unused)) bool all_indices_inside(Failure *failure, Mask m, const i64 *extent, u32 array,
                                                                 const Instance *first, Where where, Index... indices) {
  return any(lane_indices_inside(failure, m, extent, array, first, where, indices...));
}

template <class Index, class Size>
static __attribute__((noinline, unused)) Mask in_local_bounds(Failure *failure, Mask m, Index indices, Size sizes,
                                                              const Instance *first, Where where) {
  const I64 index = __builtin_convertvector(indices, I64), size = __builtin_convertvector(sizes, I64);
  const Mask inside = to_mask(index >= I64(0)) & to_mask(index < size);
  const Mask outside = m & !inside;
  if (__builtin_expect(any(outside), 0)) {
    const i32 lane = first_active(outside);
    const Instance failed = of_lane(first, lane);
    in_local_bounds(failure, index[lane], size[lane], &failed, where);
  }
  return m & inside;
}

template <class V>
static __attribute__((noinline, unused)) void check_divisor(Failure *failure, Mask m, V divisor, const Instance *first,
                                                            Where where) {
  Mask zero = m;
  if constexpr (requires { divisor[0]; })
    zero &= to_mask(divisor == V(0));
  else
    zero &= Mask(divisor == 0);
  if (__builtin_expect(any(zero), 0)) {
    const Instance failed = of_lane(first, first_active(zero));
    divided_by_zero(failure, &failed, where);
  }
}

// A value of one lane.
template <class V>
SAMITE_INLINE auto lane_of(V value, i32 lane) {
  if constexpr (__is_same(V, Mask))
    return bool(bits(value) >> lane & 1);
  else if constexpr (requires { value[0]; })
    return value[lane];
  else
    return value;
}

// The message of the first of these lanes: the index of its instance, with this many dimensions, and then the values.
template <int rank, class... Values>
static __attribute__((noinline, cold, unused)) void say_of_first(Failure *failure, Mask m, u32 site, Values... values) {
  const i32 lane = first_active(m);
  i64 index[rank + 1];
  u64 said[sizeof...(values) + 1];
  u32 next = 0;
  const auto add = [&](auto value) {
    if (next < rank)
      index[next++] = i64(value);
    else
      said[next++ - rank] = message_value(value);
  };
  (add(lane_of(values, lane)), ...);
  failure->message(failure, site, index, said);
}

// Atomic steps as calls.
template <class Step, class T, class... Values>
static __attribute__((noinline, unused)) auto called_atomic_each(Mask m, T *p, Values... values) {
  return atomic_each<Step>(m, p, values...);
}
template <class Step, class T, class Offset, class... Values>
static __attribute__((noinline, unused)) auto called_atomic_each_at(Mask m, T *p, Offset offsets, Values... values) {
  return atomic_each_at<Step>(m, p, offsets, values...);
}

// The lanes' instances for the race checks: their numbers, from 1 on, and their indices.
template <int rank>
struct Racing {
  Failure *failure;
  Mask lanes;
  I64 number, index[rank + 1];
};

// One step on the words of elements, and a message of the first lane that finds the word of another instance.
template <int rank, class Shadow, class... Index>
SAMITE_INLINE I64 race_step(const Racing<rank> &racing, Mask m, const Shadow &shadow, u32 site, i64 access, bool claims,
                            I64 words, Index... indices) {
  const I64 all[] = {each_index(indices)..., I64(0)};
  const LaneClaims step{reinterpret_cast<const i64 *>(&racing.number),
                        reinterpret_cast<const i64 *>(racing.index),
                        shadow.data,
                        shadow.stride,
                        reinterpret_cast<const i64 *>(all),
                        reinterpret_cast<i64 *>(&words),
                        bits(m),
                        bits(racing.lanes),
                        access,
                        u32(lane_count),
                        u32(rank),
                        u32(sizeof...(Index)),
                        site,
                        claims};
  racing.failure->debug->claim(racing.failure, &step);
  return words;
}
// Stores the instance's word if there is none.
template <int rank, class Shadow, class... Index>
static __attribute__((noinline, unused)) I64 claim_element(const Racing<rank> &racing, Mask m, const Shadow &shadow,
                                                           u32 site, i64 access, Index... indices) {
  return race_step(racing, m, shadow, site, access, true, I64(0), indices...);
}
// Reads the word. `zero` depends on the word of an earlier step, to order that step before this one.
template <int rank, class Shadow, class... Index>
static __attribute__((noinline, unused)) I64 look_at_claim(const Racing<rank> &racing, Mask m, const Shadow &shadow,
                                                           u32 site, i64 access, I64 zero, Index... indices) {
  return race_step(racing, m, shadow, site, access, false, zero, indices...);
}

}  // namespace samite::SAMITE_LANES_NAMESPACE
