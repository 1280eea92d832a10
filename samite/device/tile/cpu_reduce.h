// Reductions of a tile stored row by row in a block's memory, along any of its dimensions.
//
// A tile has four extents here; missing leading ones are 1. Bit d of `along` says that dimension d is reduced.
#pragma once

#include "samite/device/cpu/math.h"
#include "samite/device/tile/steps.h"

namespace samite {

// Reduces all lanes by halves: one after another, each addition would wait for the previous one.
template <class Step, int lanes, class V>
SAMITE_INLINE auto reduce_lanes(V value) {
  if constexpr (lanes == 2)
    return Step::apply(value[0], value[1]);
  else
    return reduce_lanes<Step, lanes / 2>(Step::apply(value.lo, value.hi));
}

template <class Step, class T>
SAMITE_INLINE T tile_reduce_row(const T *row, int count) {
  constexpr int lanes = SAMITE_VECTOR_BYTES / int(sizeof(T));
  typedef T Vector __attribute__((ext_vector_type(lanes)));
  typedef T Unaligned __attribute__((ext_vector_type(lanes), aligned(sizeof(T))));
  const auto vector = [&](int i) { return Vector(*reinterpret_cast<const Unaligned *>(row + i)); };
  T result = Step::template first<T>();
  int i = 0;
  if (count >= lanes) {
    Vector sums[4];
    for (int s = 0; s < 4; ++s) sums[s] = Vector(result);
    for (; i + 4 * lanes <= count; i += 4 * lanes)
      for (int s = 0; s < 4; ++s) sums[s] = Step::apply(sums[s], vector(i + s * lanes));
    for (; i + lanes <= count; i += lanes) sums[0] = Step::apply(sums[0], vector(i));
    const Vector all = Step::apply(Step::apply(sums[0], sums[1]), Step::apply(sums[2], sums[3]));
    result = T(reduce_lanes<Step, lanes>(all));
  }
  for (; i < count; ++i) result = Step::apply(result, row[i]);
  return result;
}

// For types whose arithmetic is that of another type: the sums stay in that type. A 16-bit sum that is rounded in each
// step stops growing after some hundreds of terms. Computes one row of results after another.
template <class Step, int e0, int e1, int e2, int e3, int along, class R, class T>
SAMITE_INLINE void tile_reduce_in_register(R *out, const T *in) {
  constexpr bool r0 = along & 1, r1 = along & 2, r2 = along & 4, r3 = along & 8;
  using V = Register<T>;
  V sums[r3 ? 1 : e3];
  for (int k0 = 0; k0 < (r0 ? 1 : e0); ++k0)
    for (int k1 = 0; k1 < (r1 ? 1 : e1); ++k1)
      for (int k2 = 0; k2 < (r2 ? 1 : e2); ++k2) {
        for (V &sum : sums) sum = Step::template first<V>();
        for (int i0 = k0; i0 < (r0 ? e0 : k0 + 1); ++i0)
          for (int i1 = k1; i1 < (r1 ? e1 : k1 + 1); ++i1)
            for (int i2 = k2; i2 < (r2 ? e2 : k2 + 1); ++i2) {
              const T *row = in + ((i0 * e1 + i1) * e2 + i2) * e3;
              for (int i3 = 0; i3 < e3; ++i3) sums[r3 ? 0 : i3] = Step::apply(sums[r3 ? 0 : i3], V(row[i3]));
            }
        for (const V sum : sums) *out++ = R(sum);
      }
}

template <class Step, int e0, int e1, int e2, int e3, int along, class R, class T>
static __attribute__((noinline)) void tile_reduce(R *out, const T *in) {
  constexpr bool r0 = along & 1, r1 = along & 2, r2 = along & 4, r3 = along & 8;
  constexpr int s2 = r3 ? 1 : e3, s1 = s2 * (r2 ? 1 : e2), s0 = s1 * (r1 ? 1 : e1), count = s0 * (r0 ? 1 : e0);
  using V = Register<T>;
  if constexpr (!__is_same(T, V)) return tile_reduce_in_register<Step, e0, e1, e2, e3, along>(out, in);
  for (int o = 0; o < count; ++o) out[o] = R(Step::template first<V>());
  for (int i0 = 0; i0 < e0; ++i0)
    for (int i1 = 0; i1 < e1; ++i1)
      for (int i2 = 0; i2 < e2; ++i2) {
        const T *row = in + ((i0 * e1 + i1) * e2 + i2) * e3;
        R *to = out + (r0 ? 0 : i0 * s0) + (r1 ? 0 : i1 * s1) + (r2 ? 0 : i2 * s2);
        if constexpr (!r3)
          for (int i3 = 0; i3 < e3; ++i3) to[i3] = R(Step::apply(V(to[i3]), V(row[i3])));
        else if constexpr (__is_same(T, V))
          *to = R(Step::apply(V(*to), tile_reduce_row<Step>(row, e3)));
      }
}

// The first position of the least or greatest element, counted along the reduced dimensions.
template <class Order, int e0, int e1, int e2, int e3, int along, class T>
static __attribute__((noinline)) void tile_position(i32 *out, const T *in) {
  constexpr bool r0 = along & 1, r1 = along & 2, r2 = along & 4, r3 = along & 8;
  int o = 0;
  for (int k0 = 0; k0 < (r0 ? 1 : e0); ++k0)
    for (int k1 = 0; k1 < (r1 ? 1 : e1); ++k1)
      for (int k2 = 0; k2 < (r2 ? 1 : e2); ++k2)
        for (int k3 = 0; k3 < (r3 ? 1 : e3); ++k3) {
          i32 best = 0, at = 0;
          Register<T> least = Order::template first<Register<T>>();
          for (int i0 = k0; i0 < (r0 ? e0 : k0 + 1); ++i0)
            for (int i1 = k1; i1 < (r1 ? e1 : k1 + 1); ++i1)
              for (int i2 = k2; i2 < (r2 ? e2 : k2 + 1); ++i2)
                for (int i3 = k3; i3 < (r3 ? e3 : k3 + 1); ++i3, ++at) {
                  const Register<T> x = in[((i0 * e1 + i1) * e2 + i2) * e3 + i3];
                  if (at == 0 || Order::before(x, least)) best = at, least = x;
                }
          out[o++] = best;
        }
}

}  // namespace samite
