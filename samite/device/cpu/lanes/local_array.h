// Local arrays: each lane has its own; vector i holds element i of all lanes.
//
// No other thread sees them, so an inactive lane's element may be read and written back unchanged, and elements of
// lanes that are inactive during the array's whole lifetime may be overwritten. A store at an index that all lanes
// share is then a blend, or writes the whole vector, and the compiler can keep the array in registers.
#pragma once

#include "samite/device/cpu/lanes/memory.h"

namespace samite::SAMITE_LANES_NAMESPACE {

// A vector of bools in memory. A bool is one byte there.
struct Flags {
  U8 bytes;
};

template <class V>
SAMITE_INLINE V load_local(const V *array, i64 index) {
  return array[index];
}
SAMITE_INLINE Mask load_local(const Flags *array, i64 index) { return to_mask(array[index].bytes != U8(0)); }

// By all lanes that have the array.
template <class V>
SAMITE_INLINE void store_local(V *array, i64 index, V value) {
  array[index] = value;
}
SAMITE_INLINE void store_local(Flags *array, i64 index, Mask value) { array[index].bytes = from_mask<U8>(value); }

template <class V>
SAMITE_INLINE void store_local(Mask m, V *array, i64 index, V value) {
  array[index] = m ? value : array[index];
}
SAMITE_INLINE void store_local(Mask m, Flags *array, i64 index, Mask value) {
  array[index].bytes = m ? from_mask<U8>(value) : array[index].bytes;
}

// Arrays of a strip have an element for each instance: one vector holds those of a vector of instances, which begins at
// `place`, a multiple of the number of lanes.
template <class V>
SAMITE_INLINE V load_strip(const V *array, i64 place) {
  return array[u64(place) / lane_count];
}
template <class V>
SAMITE_INLINE void store_strip(Mask m, V *array, i64 place, V value) {
  V &vector = array[u64(place) / lane_count];
  vector = m ? value : vector;
}

// Each lane at its own index. 32 bits are enough: `workspace.h` allocates no larger arrays.
template <class Index>
SAMITE_INLINE I32 local_offsets(Index indices) {
  return __builtin_convertvector(indices, I32) * lane_count + lane_i32;
}

template <class T, class V, class Index>
SAMITE_INLINE auto gather_local(Mask m, const V *array, Index indices) {
  return gather(m, reinterpret_cast<const T *>(array), local_offsets(indices));
}

template <class T, class V, class Index, class Value>
SAMITE_INLINE void scatter_local(Mask m, V *array, Index indices, Value value) {
  scatter(m, reinterpret_cast<T *>(array), local_offsets(indices), value);
}

// The largest number of an active lane.
template <class V>
SAMITE_INLINE i64 largest(Mask m, V numbers) {
  return __builtin_reduce_max(m ? numbers : V(0));
}

}  // namespace samite::SAMITE_LANES_NAMESPACE
