// Atomic steps on one element. Relaxed: the end of a launch orders everything after it.
#pragma once

#include "samite/device/cpu/half.h"

namespace samite {

// Atomic operations that return the previous value. A bool is a byte, 0 or 1.
template <class T>
struct AtomicBits {
  using type = T;
};
template <>
struct AtomicBits<bool> {
  using type = u8;
};
template <class T>
SAMITE_INLINE auto *atomic_bits(T *p) {
  return reinterpret_cast<typename AtomicBits<T>::type *>(p);
}

// By compare and exchange. Nothing is written if nothing would change: a minimum that is already there costs each
// instance a load.
template <class T, class Combine>
SAMITE_INLINE T atomic_update(T *p, Combine combine) {
  T old;
  __atomic_load(p, &old, __ATOMIC_RELAXED);
  for (;;) {
    T next = combine(old);
    if (next == old) return old;
    if (__atomic_compare_exchange(p, &old, &next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return old;
  }
}

struct AtomicAdd {
  template <class T>
  static SAMITE_INLINE_MEMBER T apply(T *p, T value) {
    return add(p, Register<T>(value));
  }
  template <class T>
  static SAMITE_INLINE_MEMBER T add(T *p, Register<T> value) {
    if constexpr (__is_same(T, Register<T>))
      return __atomic_fetch_add(p, value, __ATOMIC_RELAXED);  // of floats, a loop of compare and exchange
    else
      return atomic_update(p, [value](T old) { return T(Register<T>(old) + value); });
  }
};
struct AtomicMin {
  template <class T>
  static SAMITE_INLINE_MEMBER T apply(T *p, T value) {
    return atomic_update(p,
                         [value](T old) { return T(__builtin_elementwise_min(Register<T>(old), Register<T>(value))); });
  }
};
struct AtomicMax {
  template <class T>
  static SAMITE_INLINE_MEMBER T apply(T *p, T value) {
    return atomic_update(p,
                         [value](T old) { return T(__builtin_elementwise_max(Register<T>(old), Register<T>(value))); });
  }
};
struct AtomicAnd {
  template <class T>
  static SAMITE_INLINE_MEMBER T apply(T *p, T value) {
    return T(__atomic_fetch_and(atomic_bits(p), value, __ATOMIC_RELAXED));
  }
};
struct AtomicOr {
  template <class T>
  static SAMITE_INLINE_MEMBER T apply(T *p, T value) {
    return T(__atomic_fetch_or(atomic_bits(p), value, __ATOMIC_RELAXED));
  }
};
struct AtomicXor {
  template <class T>
  static SAMITE_INLINE_MEMBER T apply(T *p, T value) {
    return T(__atomic_fetch_xor(atomic_bits(p), value, __ATOMIC_RELAXED));
  }
};
struct AtomicExchange {
  template <class T>
  static SAMITE_INLINE_MEMBER T apply(T *p, T value) {
    T old;
    __atomic_exchange(p, &value, &old, __ATOMIC_RELAXED);
    return old;
  }
};
// Compares bits, so that a NaN is equal to itself and -0 is not 0.
struct AtomicCompareExchange {
  template <class T>
  static SAMITE_INLINE_MEMBER T apply(T *p, T expected, T value) {
    __atomic_compare_exchange(p, &expected, &value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
  }
};

template <class T>
SAMITE_INLINE void atomic_add(T *p, Register<T> value) {
  AtomicAdd::add(p, value);
}

// Reads an element and leaves zero there.
template <class T>
SAMITE_INLINE T atomic_take(T *p) {
  return AtomicExchange::apply(p, T(0));
}

}  // namespace samite
