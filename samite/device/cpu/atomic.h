// Atomic steps on one element. Relaxed: the end of a launch orders everything after it.
#pragma once

#include "samite/device/cpu/scalar.h"

namespace samite {

template <class T>
SAMITE_INLINE void atomic_add(T *p, T value) {
  __atomic_fetch_add(p, value, __ATOMIC_RELAXED);  // of floats, a loop of compare and exchange
}

// Reads an element and leaves zero there.
template <class T>
SAMITE_INLINE T atomic_take(T *p) {
  T zero = 0, old;
  __atomic_exchange(p, &zero, &old, __ATOMIC_RELAXED);
  return old;
}

}  // namespace samite
