// Sums over the lanes, many together.
//
// In an all-pairs loop, iteration j adds the contributions of all lanes to element j. Summing the lanes of one vector
// in each iteration would take log2(lanes) shuffles and additions, half of them for a lane or two. Here the loop runs
// in pieces of as many iterations as there are lanes. Each iteration keeps its vector. After the piece all vectors are
// summed together in lanes - 1 steps of full width, by merging: lane k of the result is the sum of vector k.
#pragma once

#include "samite/device/cpu/lanes/atomic.h"

namespace samite::SAMITE_LANES_NAMESPACE {

template <class T, T... I>
struct Lanes {
  // Adds the two lanes that differ in bit `distance`: of a if the lane's bit is clear, of b if it is set.
  template <int distance, class V>
  static SAMITE_INLINE_MEMBER V merge(V a, V b) {
    const V own = __builtin_shufflevector(a, b, ((I & distance) == 0 ? I : I + lane_count)...);
    const V other = __builtin_shufflevector(a, b, ((I & distance) == 0 ? I + distance : I - distance + lane_count)...);
    return own + other;
  }
  template <class V>
  static SAMITE_INLINE_MEMBER V reversed(V v) {
    return __builtin_shufflevector(v, v, (lane_count - 1 - I)...);
  }
};
using EachLane = __make_integer_seq<Lanes, int, lane_count>;

// Lane k of the result is the sum of values[k].
template <int distance = lane_count / 2, class V>
SAMITE_INLINE V sum_each(const V *values) {
  if constexpr (distance == 0) {
    return values[0];
  } else {
    V merged[distance];
#pragma clang loop unroll(full)
    for (int k = 0; k < distance; ++k) merged[k] = EachLane::merge<distance>(values[k], values[k + distance]);
    return sum_each<distance / 2>(merged);
  }
}

// The vectors of up to lane_count iterations. The elements that values[k] and values[k + 1] are added to are `step`
// elements apart. `shared`: other threads may add to the same elements.
template <class T, bool shared>
struct SumRows {
  Vector<T> values[lane_count];

  // `last` is the element of values[count - 1].
  __attribute__((noinline)) void flush(T *last, i64 step, i32 count) {
    for (i32 k = count; k < lane_count; ++k) values[k] = Vector<T>(0);
    Vector<T> sums = sum_each(values);
    T *first = last - step * (count - 1);
    if constexpr (!shared) {
      if (step == 1) return serial_add(first_lanes(count), first, sums);
      if (step == -1 && count == lane_count) return serial_add(all_lanes(), last, EachLane::reversed(sums));
    }
    for (i32 k = 0; k < count; ++k) {
      if constexpr (shared)
        samite::atomic_add<T>(first + k * step, T(sums[k]));
      else
        first[k * step] += sums[k];
    }
  }
};

}  // namespace samite::SAMITE_LANES_NAMESPACE
