// How reductions combine two values, of scalars and of vectors, on every target.
#pragma once

#include "samite/device/cpu/math.h"

namespace samite {

template <class T>
inline constexpr bool is_floating_element = T(0.5f) != T(0);
template <class T>
SAMITE_INLINE T largest_integer() {
  if (T(-1) > T(0)) return T(-1);
  return T(~(u64(1) << (8 * sizeof(T) - 1)) & (~u64(0) >> (64 - 8 * sizeof(T))));
}

struct StepAdd {
  template <class T>
  static SAMITE_INLINE_MEMBER T first() {
    return T(0);
  }
  template <class V>
  static SAMITE_INLINE_MEMBER V apply(V a, V b) {
    return V(a + b);
  }
};
struct StepMul {
  template <class T>
  static SAMITE_INLINE_MEMBER T first() {
    return T(1);
  }
  template <class V>
  static SAMITE_INLINE_MEMBER V apply(V a, V b) {
    return V(a * b);
  }
};
// min and max begin with NaN: given a NaN and another operand, they return the other operand.
struct StepMin {
  template <class T>
  static SAMITE_INLINE_MEMBER T first() {
    if constexpr (is_floating_element<T>)
      return T(nan_f32());
    else
      return largest_integer<T>();
  }
  template <class V>
  static SAMITE_INLINE_MEMBER V apply(V a, V b) {
    return min(a, b);
  }
  template <class T>
  static SAMITE_INLINE_MEMBER bool before(T a, T b) {
    return a < b || (a == a && b != b);
  }
};
struct StepMax {
  template <class T>
  static SAMITE_INLINE_MEMBER T first() {
    if constexpr (is_floating_element<T>)
      return T(nan_f32());
    else
      return T(-1) > T(0) ? T(0) : T(~largest_integer<T>());
  }
  template <class V>
  static SAMITE_INLINE_MEMBER V apply(V a, V b) {
    return max(a, b);
  }
  template <class T>
  static SAMITE_INLINE_MEMBER bool before(T a, T b) {
    return a > b || (a == a && b != b);
  }
};

}  // namespace samite
