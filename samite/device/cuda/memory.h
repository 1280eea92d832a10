// Loads of what nothing writes while the kernel runs: they may be kept, moved, and go through the read-only cache.
#pragma once

#include "samite/device/cuda/half.h"

namespace samite {

template <class T>
SAMITE_INLINE Register<T> load_constant(const T *p) {
  if constexpr (same_type<T, bool>) {
    return load_constant_bits(reinterpret_cast<const u8 *>(p)) != 0;
  } else if constexpr (!same_type<T, Register<T>>) {
    T element;
    element.bits = load_constant_bits(&p->bits);
    return element;
  } else {
    return load_constant_bits(p);
  }
}

}  // namespace samite
