// How a scan combines two stretches of a tile, the earlier one first, on every target.
#pragma once

#include "samite/device/tile/steps.h"

namespace samite {

// `State` is the total of a stretch: one value here.
template <class V>
struct ScanOfValues {
  using State = V;
  static SAMITE_INLINE_MEMBER V of(V x) { return x; }
  static SAMITE_INLINE_MEMBER V value(V state) { return state; }
};

template <class V>
struct ScanAdd : ScanOfValues<V> {
  static SAMITE_INLINE_MEMBER V first() { return V(0); }
  static SAMITE_INLINE_MEMBER V together(V before, V after) { return StepAdd::apply(before, after); }
};
template <class V>
struct ScanMul : ScanOfValues<V> {
  static SAMITE_INLINE_MEMBER V first() { return V(1); }
  static SAMITE_INLINE_MEMBER V together(V before, V after) { return StepMul::apply(before, after); }
};
template <class V>
struct ScanMin : ScanOfValues<V> {
  static SAMITE_INLINE_MEMBER V first() {
    if constexpr (is_floating_element<V>)
      return V(infinity_f32());
    else
      return StepMin::template first<V>();
  }
  static SAMITE_INLINE_MEMBER V together(V before, V after) { return StepMin::apply(before, after); }
};
template <class V>
struct ScanMax : ScanOfValues<V> {
  static SAMITE_INLINE_MEMBER V first() {
    if constexpr (is_floating_element<V>)
      return V(-infinity_f32());
    else
      return StepMax::template first<V>();
  }
  static SAMITE_INLINE_MEMBER V together(V before, V after) { return StepMax::apply(before, after); }
};

// A stretch of a recurrence maps the element x before it to factor * x + value.
template <class V>
struct LinearState {
  V factor, value;
};
template <class V>
struct ScanLinear {
  using State = LinearState<V>;
  static SAMITE_INLINE_MEMBER State of(V factor, V value) { return {factor, value}; }
  static SAMITE_INLINE_MEMBER V value(State state) { return state.value; }
  static SAMITE_INLINE_MEMBER V first() { return V(0); }
  static SAMITE_INLINE_MEMBER State together(State before, State after) {
    return {V(after.factor * before.factor), V(after.value + after.factor * before.value)};
  }
};

}  // namespace samite
