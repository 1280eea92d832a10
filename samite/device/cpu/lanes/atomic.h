// Atomic steps of several lanes.
#pragma once

#include "samite/device/cpu/atomic.h"
#include "samite/device/cpu/lanes/half.h"

namespace samite::SAMITE_LANES_NAMESPACE {

// The sum over the active lanes, halving the vector in each step.
template <class T>
SAMITE_INLINE T sum_lanes(Mask m, Vector<T> value) {
  const Vector<T> v = m ? value : Vector<T>(0);
#if SAMITE_LANES == 64
  const auto thirty_two = v.lo + v.hi;
  const auto sixteen = thirty_two.lo + thirty_two.hi;
  const auto eight = sixteen.lo + sixteen.hi;
  const auto four = eight.lo + eight.hi;
  const auto two = four.lo + four.hi;
#elif SAMITE_LANES == 32
  const auto sixteen = v.lo + v.hi;
  const auto eight = sixteen.lo + sixteen.hi;
  const auto four = eight.lo + eight.hi;
  const auto two = four.lo + four.hi;
#elif SAMITE_LANES == 16
  const auto eight = v.lo + v.hi;
  const auto four = eight.lo + eight.hi;
  const auto two = four.lo + four.hi;
#elif SAMITE_LANES == 8
  const auto four = v.lo + v.hi;
  const auto two = four.lo + four.hi;
#elif SAMITE_LANES == 4
  const auto two = v.lo + v.hi;
#else
  const auto two = v;
#endif
  return two.x + two.y;
}

// To p[lane]: other threads may use the same elements, but no two lanes do.
template <class T>
SAMITE_INLINE void atomic_add(Mask m, T *p, Vector<Register<T>> value) {
  SAMITE_FOR_EACH_ACTIVE(k, m) samite::atomic_add(p + k, Register<T>(value[k]));
}

template <class T, class Offset>
SAMITE_INLINE void atomic_add(Mask m, T *p, Offset offsets, Vector<Register<T>> value) {
  SAMITE_FOR_EACH_ACTIVE(k, m) samite::atomic_add(p + offsets[k], Register<T>(value[k]));
}

// For elements that no other thread uses, but several lanes may.
template <class T>
SAMITE_INLINE void serial_add(Mask m, T *p, Vector<Register<T>> value) {
  store(m, p, load(m, p) + value);  // p[lane]: no two lanes share an element
}
template <class T, class Offset>
SAMITE_INLINE void serial_add(Mask m, T *p, Offset offsets, Vector<Register<T>> value) {
  SAMITE_FOR_EACH_ACTIVE(k, m) p[offsets[k]] += Register<T>(value[k]);
}

// For elements that no two instances share.
template <class T>
SAMITE_INLINE void plain_add(Mask m, T *p, Vector<Register<T>> value) {
  store(m, p, load(m, p) + value);
}
template <class T, class Offset>
SAMITE_INLINE void plain_add(Mask m, T *p, Offset offsets, Vector<Register<T>> value) {
  scatter(m, p, offsets, gather(m, p, offsets) + value);
}

// Reads an element and stores zero. If several lanes name one element, the first reads it and the others get zero.
template <class T>
SAMITE_INLINE Vector<Register<T>> atomic_take_one(Mask m, T *p) {
  Vector<Register<T>> old = Vector<Register<T>>(0);
  old[first_active(m)] = samite::atomic_take(p);
  return old;
}
template <class T>
SAMITE_INLINE Vector<Register<T>> atomic_take(Mask m, T *p) {
  Vector<Register<T>> old = Vector<Register<T>>(0);
  SAMITE_FOR_EACH_ACTIVE(k, m) old[k] = samite::atomic_take(p + k);
  return old;
}
template <class T, class Offset>
SAMITE_INLINE Vector<Register<T>> atomic_take(Mask m, T *p, Offset offsets) {
  Vector<Register<T>> old = Vector<Register<T>>(0);
  SAMITE_FOR_EACH_ACTIVE(k, m) old[k] = samite::atomic_take(p + offsets[k]);
  return old;
}

// Returns to each lane the value from before its operation. The lanes operate one after another.
template <class Step, class T, class... Values>
SAMITE_INLINE auto atomic_each(Mask m, T *p, Values... values) {
  Vector<Register<T>> old = Vector<Register<T>>(0);
  SAMITE_FOR_EACH_ACTIVE(k, m) old[k] = Step::apply(p + k, T(values[k])...);
  return old;
}
template <class Step, class T, class Offset, class... Values>
SAMITE_INLINE auto atomic_each_at(Mask m, T *p, Offset offsets, Values... values) {
  Vector<Register<T>> old = Vector<Register<T>>(0);
  SAMITE_FOR_EACH_ACTIVE(k, m) old[k] = Step::apply(p + offsets[k], T(values[k])...);
  return old;
}
template <class Step, class T, class... Values>
SAMITE_INLINE auto atomic_one(Mask m, T *p, Values... values) {
  Vector<Register<T>> old = Vector<Register<T>>(0);
  if constexpr (__is_same(Step, AtomicAdd) && Register<T>(0.5f) == Register<T>(0)) {
    // Sums of integers are the same in any order: one atomic step adds for all lanes, then each lane's old value is
    // computed.
    T sum = 0;
    SAMITE_FOR_EACH_ACTIVE(k, m) {
      old[k] = sum;
      sum = T(sum + T((values[k], ...)));
    }
    return Vector<T>(old + Vector<T>(Step::apply(p, sum)));
  } else {
    SAMITE_FOR_EACH_ACTIVE(k, m) old[k] = Step::apply(p, T(values[k])...);
    return old;
  }
}

// Bools, as their bytes.
template <class Step, class... Values>
SAMITE_INLINE Mask atomic_each(Mask m, bool *p, Values... values) {
  return to_mask(atomic_each<Step>(m, reinterpret_cast<u8 *>(p), from_mask<U8>(values)...) != U8(0));
}
template <class Step, class Offset, class... Values>
SAMITE_INLINE Mask atomic_each_at(Mask m, bool *p, Offset offsets, Values... values) {
  return to_mask(atomic_each_at<Step>(m, reinterpret_cast<u8 *>(p), offsets, from_mask<U8>(values)...) != U8(0));
}
template <class Step, class... Values>
SAMITE_INLINE Mask atomic_one(Mask m, bool *p, Values... values) {
  return to_mask(atomic_one<Step>(m, reinterpret_cast<u8 *>(p), from_mask<U8>(values)...) != U8(0));
}

}  // namespace samite::SAMITE_LANES_NAMESPACE
